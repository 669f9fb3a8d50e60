/**
 * The actions of an endpoint: test, edit, rotate the secret, enable, disable, replay and delete.
 */

import { Button } from '@mantine/core';
import { defined, type WebhookSecret } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { EnableDialog } from './enable-dialog.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { TestEventDialog } from './test-event-dialog.tsx';
import { endpointsUrl, type LoadedEndpoint } from './webhook-queries.ts';

/** Actions that need only a confirmation. */
type ConfirmedAction = 'renew' | 'disable' | 'verify' | 'delete';
type EndpointAction = ConfirmedAction | 'edit' | 'test' | 'enable' | 'replay';

function verbsOf({
  endpoint: { status, disabledReason },
}: LoadedEndpoint): readonly EndpointAction[] {
  if (status === 'Enabled') return ['edit', 'replay', 'renew', 'disable', 'delete'];
  return ['edit', disabledReason === 'Unverified' ? 'verify' : 'enable', 'renew', 'delete'];
}

export function EndpointActions({ loaded }: { readonly loaded: LoadedEndpoint }) {
  const t = useTranslate('webhooks');
  const [verb, setVerb] = useState<EndpointAction | undefined>(undefined);
  const close = () => setVerb(undefined);
  const { endpointId, status } = loaded.endpoint;
  return (
    <>
      {status === 'Enabled' && (
        <Button
          variant="default"
          leftSection={<Icon name="play" size={15} />}
          onClick={() => setVerb('test')}
        >
          {t('test.title')}
        </Button>
      )}
      <ActionMenu
        label={t('actions')}
        actions={verbsOf(loaded)}
        textOf={(each) => t(`${each}.menu`)}
        onChoose={setVerb}
      />
      {verb === 'edit' && <EndpointForm loaded={loaded} onClose={close} />}
      {verb === 'test' && <TestEventDialog endpointId={endpointId} onClose={close} />}
      {verb === 'enable' && <EnableDialog loaded={loaded} onClose={close} />}
      {verb === 'replay' && <ReplayDialog endpointId={endpointId} onClose={close} />}
      <ConfirmedActionDialog
        loaded={loaded}
        verb={
          verb === 'renew' || verb === 'disable' || verb === 'verify' || verb === 'delete'
            ? verb
            : undefined
        }
        onClose={close}
      />
    </>
  );
}

/** Stays open while it shows a new secret. */
function ConfirmedActionDialog({
  loaded: { endpoint, etag },
  verb,
  onClose,
}: {
  readonly loaded: LoadedEndpoint;
  readonly verb: ConfirmedAction | undefined;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [renewed, setRenewed] = useState<WebhookSecret | undefined>(undefined);
  const address = `${endpointsUrl}/${endpoint.endpointId}`;
  const headers = { 'if-match': etag };
  const { url, eventTypes, merchantId, description } = endpoint;
  const unchangedValues = {
    url,
    eventTypes,
    ...defined({ merchantId, description }),
  };
  const changes: Readonly<Record<ConfirmedAction, (key: string) => Promise<unknown>>> = {
    renew: (idempotencyKey) =>
      api.post<WebhookSecret>(`${address}/secret`, { body: {}, idempotencyKey }),
    verify: () => api.post(`${address}/verify`, { body: {} }),
    disable: () => api.put(address, { body: { ...unchangedValues, status: 'Disabled' }, headers }),
    delete: () => api.delete(address, { headers }),
  };
  function done(action: ConfirmedAction, result: unknown): void {
    onClose();
    discardLists('["endpoints"');
    void client.invalidateQueries({ queryKey: ['endpoints'] });
    if (action === 'delete') {
      showToast(t('delete.done'));
      void navigate({ to: '/webhooks' });
      return;
    }
    void client.invalidateQueries({ queryKey: ['endpoint', endpoint.endpointId] });
    if (action === 'renew') setRenewed(result as WebhookSecret);
    else showToast(t(`${action}.done`));
  }
  return (
    <>
      {verb !== undefined && (
        <ConfirmDialog
          isOpen
          isDangerous={verb === 'disable' || verb === 'delete'}
          onClose={onClose}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={(result) => done(verb, result)}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`)}</p>
        </ConfirmDialog>
      )}
      {renewed !== undefined && (
        <OneTimeSecretDialog
          title={t('secret.renewed')}
          facts={[
            [t('secret.name'), renewed.secret],
            [t('publicKey'), renewed.publicKey],
          ]}
          onClose={() => setRenewed(undefined)}
        >
          {t('secret.overlap', { until: formats.time(renewed.previousUntil) })}
        </OneTimeSecretDialog>
      )}
    </>
  );
}
