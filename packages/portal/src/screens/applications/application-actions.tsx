/** What may be done with an application: change it, give it a new secret, stop it, let it go. */
import { Button } from '@mantine/core';
import type { Application, RenewedSecret } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { VerbMenu } from '../../components/action-menu.tsx';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { SecretOnce } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { changesOf, draftOf } from './application-draft.ts';
import { ownerOf } from './application-kinds.ts';
import type { FoundApplication } from './use-application.ts';

type Verb = 'approve' | 'secret' | 'disable' | 'enable' | 'delete';

/** Devices share an application that proves itself by certificates, and that they cannot be without. */
function verbsOf(
  { clientType, status }: Application,
  isOfDevices: boolean,
  { mayApprove, mayWrite }: { readonly mayApprove: boolean; readonly mayWrite: boolean },
): readonly Verb[] {
  const all: readonly (readonly [Verb, boolean])[] = [
    ['approve', status === 'PendingApproval' && mayApprove],
    ['secret', clientType === 'Confidential' && !isOfDevices],
    ['disable', status !== 'Disabled' && mayWrite],
    ['enable', status === 'Disabled' && mayWrite],
    ['delete', !isOfDevices && mayWrite],
  ];
  return all.filter(([, isShown]) => isShown).map(([verb]) => verb);
}

const harmless: ReadonlySet<Verb> = new Set(['approve', 'enable']);

const isRenewed = (result: unknown): result is RenewedSecret =>
  typeof result === 'object' && result !== null && 'clientSecret' in result;

const isPending = (result: unknown): boolean =>
  typeof result === 'object' &&
  result !== null &&
  'status' in result &&
  result.status === 'PendingApproval';

export function ApplicationActions({ loaded }: { readonly loaded: FoundApplication }) {
  const t = useTranslate('applications');
  const client = useQueryClient();
  const navigate = useNavigate();
  const { application, address, etag } = loaded;
  const { clientId, name, type } = application;
  const mayWrite = useCan('app.write');
  const mayApprove = useCan('um.write');
  const isOfDevices = ownerOf(application) === 'devices';
  const [verb, setVerb] = useState<Verb | undefined>(undefined);
  const [renewed, setRenewed] = useState<RenewedSecret | undefined>(undefined);
  const headers = { 'if-match': etag };
  const setStatus = (next: 'Enabled' | 'Disabled') =>
    api.put(address, {
      body: { ...changesOf(draftOf(application)), type, status: next },
      headers,
    });
  const changes: Readonly<Record<Verb, (key: string) => Promise<unknown>>> = {
    approve: () => api.post<Application>(`${address}/approve`, { body: {}, headers }),
    secret: (idempotencyKey) =>
      api.post<RenewedSecret>(`${address}/secret`, { body: {}, idempotencyKey }),
    disable: () => setStatus('Disabled'),
    enable: () => setStatus('Enabled'),
    delete: () => api.delete(address, { headers }),
  };
  function done(action: Verb, result: unknown): void {
    setVerb(undefined);
    forgetLists('["applications"');
    if (action === 'delete') {
      notify(t('delete.done'));
      void navigate({ to: '/applications' });
      return;
    }
    void client.invalidateQueries({ queryKey: ['application', clientId] });
    if (isRenewed(result)) setRenewed(result);
    else notify(t(isPending(result) ? 'pending' : `${action}.done`));
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
      <VerbMenu
        label={t('actions')}
        verbs={verbsOf(application, isOfDevices, { mayApprove, mayWrite })}
        textOf={(each) => t(`${each}.do`)}
        onChoose={setVerb}
      />
      {verb !== undefined && (
        <ConfirmAction
          isOpen
          isDangerous={!harmless.has(verb)}
          onClose={() => setVerb(undefined)}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={(result) => done(verb, result)}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`, { name })}</p>
        </ConfirmAction>
      )}
      {renewed !== undefined && (
        <SecretOnce
          title={t('secret.renewed', { name })}
          facts={[
            [t('clientId'), renewed.clientId],
            [t('clientSecret'), renewed.clientSecret],
          ]}
          onClose={() => setRenewed(undefined)}
        >
          {t('secret.after')}
        </SecretOnce>
      )}
    </>
  );
}
