/** The actions of an application: approve, rotate the secret, enable, disable and delete. */
import { Button } from '@mantine/core';
import type { Application, RenewedSecret } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { applicationDraftOf, changedFields } from './application-draft.ts';
import { applicationOwner } from './application-kinds.ts';
import type { LoadedApplication } from './use-application.ts';

type ApplicationAction = 'approve' | 'secret' | 'disable' | 'enable' | 'delete';

/** The shared application of devices has no secret and cannot be deleted. */
function actionsFor(
  { clientType, status }: Application,
  isOfDevices: boolean,
  { mayApprove, mayWrite }: { readonly mayApprove: boolean; readonly mayWrite: boolean },
): readonly ApplicationAction[] {
  const all: readonly (readonly [ApplicationAction, boolean])[] = [
    ['approve', status === 'PendingApproval' && mayApprove],
    ['secret', clientType === 'Confidential' && !isOfDevices],
    ['disable', status !== 'Disabled' && mayWrite],
    ['enable', status === 'Disabled' && mayWrite],
    ['delete', !isOfDevices && mayWrite],
  ];
  return all.filter(([, isShown]) => isShown).map(([verb]) => verb);
}

const harmless: ReadonlySet<ApplicationAction> = new Set(['approve', 'enable']);

const isRenewed = (result: unknown): result is RenewedSecret =>
  typeof result === 'object' && result !== null && 'clientSecret' in result;

const isPending = (result: unknown): boolean =>
  typeof result === 'object' &&
  result !== null &&
  'status' in result &&
  result.status === 'PendingApproval';

export function ApplicationActions({ loaded }: { readonly loaded: LoadedApplication }) {
  const t = useTranslate('applications');
  const client = useQueryClient();
  const navigate = useNavigate();
  const { application, address, etag } = loaded;
  const { clientId, name, type } = application;
  const mayWrite = useHasPermission('app.write');
  const mayApprove = useHasPermission('um.write');
  const isOfDevices = applicationOwner(application) === 'devices';
  const [verb, setVerb] = useState<ApplicationAction | undefined>(undefined);
  const [renewed, setRenewed] = useState<RenewedSecret | undefined>(undefined);
  const headers = { 'if-match': etag };
  const setStatus = (next: 'Enabled' | 'Disabled') =>
    api.put(address, {
      body: { ...changedFields(applicationDraftOf(application)), type, status: next },
      headers,
    });
  const changes: Readonly<Record<ApplicationAction, (key: string) => Promise<unknown>>> = {
    approve: () => api.post<Application>(`${address}/approve`, { body: {}, headers }),
    secret: (idempotencyKey) =>
      api.post<RenewedSecret>(`${address}/secret`, { body: {}, idempotencyKey }),
    disable: () => setStatus('Disabled'),
    enable: () => setStatus('Enabled'),
    delete: () => api.delete(address, { headers }),
  };
  function done(action: ApplicationAction, result: unknown): void {
    setVerb(undefined);
    discardLists('["applications"');
    if (action === 'delete') {
      showToast(t('delete.done'));
      void navigate({ to: '/applications' });
      return;
    }
    void client.invalidateQueries({ queryKey: ['application', clientId] });
    if (isRenewed(result)) setRenewed(result);
    else showToast(t(isPending(result) ? 'pending' : `${action}.done`));
  }
  return (
    <>
      {mayWrite && (
        <Button
          component={Link}
          to={`/applications/${clientId}/edit`}
          variant="default"
          leftSection={<Icon name="edit" size={15} />}
        >
          {t('edit.title')}
        </Button>
      )}
      <ActionMenu
        label={t('actions')}
        actions={actionsFor(application, isOfDevices, { mayApprove, mayWrite })}
        textOf={(each) => t(`${each}.do`)}
        onChoose={setVerb}
      />
      {verb !== undefined && (
        <ConfirmDialog
          isOpen
          isDangerous={!harmless.has(verb)}
          onClose={() => setVerb(undefined)}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={(result) => done(verb, result)}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`, { name })}</p>
        </ConfirmDialog>
      )}
      {renewed !== undefined && (
        <OneTimeSecretDialog
          title={t('secret.renewed', { name })}
          facts={[
            [t('clientId'), renewed.clientId],
            [t('clientSecret'), renewed.clientSecret],
          ]}
          onClose={() => setRenewed(undefined)}
        >
          {t('secret.after')}
        </OneTimeSecretDialog>
      )}
    </>
  );
}
