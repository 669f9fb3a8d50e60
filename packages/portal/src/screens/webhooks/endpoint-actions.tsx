/**
 * The actions of an endpoint: test, edit, rotate the secret, enable, disable, replay and delete.
 */
import { Button } from '@mantine/core';
import type { WebhookEndpoint, WebhookSecret } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { EnableDialog } from './enable-dialog.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { TestEventDialog } from './test-event-dialog.tsx';
import { endpointsUrl, statusUpdate } from './webhook-queries.ts';

/** Actions that need only a confirmation. */
type ConfirmedAction = 'renew' | 'disable' | 'verify' | 'delete';
type EndpointAction = ConfirmedAction | 'edit' | 'test' | 'enable' | 'replay';

function verbsOf({ status, disabledReason }: WebhookEndpoint): readonly EndpointAction[] {
  if (status === 'Enabled') return ['edit', 'replay', 'renew', 'disable', 'delete'];
  return ['edit', disabledReason === 'Unverified' ? 'verify' : 'enable', 'renew', 'delete'];
}

export function EndpointActions({ loaded }: { readonly loaded: Versioned<WebhookEndpoint> }) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const navigate = useNavigate();
  const [verb, setVerb] = useState<EndpointAction | undefined>(undefined);
  const [renewed, setRenewed] = useState<WebhookSecret | undefined>(undefined);
  const close = () => setVerb(undefined);
  const { body: endpoint, etag } = loaded;
  const { endpointId, status } = endpoint;
  const path = `${endpointsUrl}/${endpointId}`;
  const changes: Readonly<Record<ConfirmedAction, (key: string) => Promise<unknown>>> = {
    renew: (idempotencyKey) =>
      api.post<WebhookSecret>(`${path}/secret`, { body: {}, idempotencyKey }),
    verify: () => api.post(`${path}/verify`, { body: {} }),
    disable: () => replaceVersioned(path, etag, statusUpdate(endpoint, 'Disabled')),
    delete: () => api.delete(path, { headers: { 'if-match': etag } }),
  };
  function done(action: ConfirmedAction, result: unknown): void {
    reloadData('endpoints');
    if (action === 'delete') {
      void navigate({ to: '/webhooks' });
      return;
    }
    reloadData('endpoint');
    if (action === 'renew') setRenewed(result as WebhookSecret);
  }
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
        actions={verbsOf(endpoint)}
        textOf={(each) => t(`${each}.menu`)}
        onChoose={setVerb}
      />
      {verb === 'edit' && <EndpointForm loaded={loaded} onClose={close} />}
      {verb === 'test' && <TestEventDialog endpointId={endpointId} onClose={close} />}
      {verb === 'enable' && <EnableDialog loaded={loaded} onClose={close} />}
      {verb === 'replay' && <ReplayDialog endpointId={endpointId} onClose={close} />}
      {(verb === 'renew' || verb === 'disable' || verb === 'verify' || verb === 'delete') && (
        <ActionDialog
          t={t}
          action={verb}
          isDangerous={verb === 'disable' || verb === 'delete'}
          run={changes[verb]}
          doneText={() => (verb === 'renew' ? undefined : t(`${verb}.done`))}
          onClose={close}
          onDone={(result) => done(verb, result)}
        />
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
