/** The actions of an application: approve, rotate the secret, enable, disable and delete. */
import { Button } from '@mantine/core';
import type { Application, RenewedSecret } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { managingResource } from './application-kinds.ts';
import { useApplicationsApiUrl } from './application-queries.ts';
import { statusUpdate } from './application-sections.ts';

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

export function ApplicationActions({ loaded }: { readonly loaded: Versioned<Application> }) {
  const t = useTranslate('applications');
  const navigate = useNavigate();
  const { body: application, etag } = loaded;
  const { clientId, name } = application;
  const path = `${useApplicationsApiUrl()}/${clientId}`;
  const mayWrite = useHasPermission('app.write');
  const mayApprove = useHasPermission('um.write');
  const isOfDevices = managingResource(application) === 'devices';
  const [verb, setVerb] = useState<ApplicationAction | undefined>(undefined);
  const [renewed, setRenewed] = useState<RenewedSecret | undefined>(undefined);
  const headers = { 'if-match': etag };
  const changes: Readonly<Record<ApplicationAction, (key: string) => Promise<unknown>>> = {
    approve: () => api.post<Application>(`${path}/approve`, { body: {}, headers }),
    secret: (idempotencyKey) =>
      api.post<RenewedSecret>(`${path}/secret`, { body: {}, idempotencyKey }),
    disable: () => replaceVersioned(path, etag, statusUpdate(application, 'Disabled')),
    enable: () => replaceVersioned(path, etag, statusUpdate(application, 'Enabled')),
    delete: () => api.delete(path, { headers }),
  };
  function doneText(action: ApplicationAction, result: unknown): string | undefined {
    if (isRenewed(result)) return undefined;
    return t(isPending(result) ? 'pending' : `${action}.done`);
  }
  function done(action: ApplicationAction, result: unknown): void {
    if (isRenewed(result)) setRenewed(result);
    if (action === 'delete') {
      discardLists('applications');
      void navigate({ to: '/applications' });
      return;
    }
    reloadData('applications', 'application');
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
        <ActionDialog
          t={t}
          action={verb}
          values={{ name }}
          isDangerous={!harmless.has(verb)}
          run={changes[verb]}
          doneText={(result) => doneText(verb, result)}
          onClose={() => setVerb(undefined)}
          onDone={(result) => done(verb, result)}
        />
      )}
      {renewed !== undefined && (
        <OneTimeSecretDialog
          title={t('secret.renewed', { name })}
          facts={[
            [t('fields.clientId'), renewed.clientId],
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
