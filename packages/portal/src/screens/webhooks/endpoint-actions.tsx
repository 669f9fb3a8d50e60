/** What may be done with an endpoint: try it, change it, give it new keys, stop it, let it catch up. */

import { Button } from '@mantine/core';
import { defined, type WebhookSecret } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { VerbMenu } from '../../components/action-menu.tsx';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { SecretOnce } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { EnableEndpoint } from './enable-dialog.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { Replay } from './replay-dialog.tsx';
import { TestEvent } from './test-event-dialog.tsx';
import { endpointsAddress, type FoundEndpoint } from './webhook-queries.ts';

/** Those that need no more than a yes. */
type Plain = 'renew' | 'disable' | 'verify' | 'delete';
type Verb = Plain | 'edit' | 'test' | 'enable' | 'replay';

function verbsOf({ endpoint: { status, disabledReason } }: FoundEndpoint): readonly Verb[] {
  if (status === 'Enabled') return ['edit', 'replay', 'renew', 'disable', 'delete'];
  return ['edit', disabledReason === 'Unverified' ? 'verify' : 'enable', 'renew', 'delete'];
}

export function EndpointActions({ loaded }: { readonly loaded: FoundEndpoint }) {
  const t = useTranslate('webhooks');
  const [verb, setVerb] = useState<Verb | undefined>(undefined);
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
      <VerbMenu
        label={t('actions')}
        verbs={verbsOf(loaded)}
        textOf={(each) => t(`${each}.menu`)}
        onChoose={setVerb}
      />
      {verb === 'edit' && <EndpointForm loaded={loaded} onClose={close} />}
      {verb === 'test' && <TestEvent endpointId={endpointId} onClose={close} />}
      {verb === 'enable' && <EnableEndpoint loaded={loaded} onClose={close} />}
      {verb === 'replay' && <Replay endpointId={endpointId} onClose={close} />}
      <PlainAction
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

/** Stays while a new secret is shown. */
function PlainAction({
  loaded: { endpoint, etag },
  verb,
  onClose,
}: {
  readonly loaded: FoundEndpoint;
  readonly verb: Plain | undefined;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [renewed, setRenewed] = useState<WebhookSecret | undefined>(undefined);
  const address = `${endpointsAddress}/${endpoint.endpointId}`;
  const headers = { 'if-match': etag };
  const { url, eventTypes, merchantId, description } = endpoint;
  const unchangedValues = {
    url,
    eventTypes,
    ...defined({ merchantId, description }),
  };
  const changes: Readonly<Record<Plain, (key: string) => Promise<unknown>>> = {
    renew: (idempotencyKey) =>
      api.post<WebhookSecret>(`${address}/secret`, { body: {}, idempotencyKey }),
    verify: () => api.post(`${address}/verify`, { body: {} }),
    disable: () => api.put(address, { body: { ...unchangedValues, status: 'Disabled' }, headers }),
    delete: () => api.delete(address, { headers }),
  };
  function done(action: Plain, result: unknown): void {
    onClose();
    forgetLists('["endpoints"');
    void client.invalidateQueries({ queryKey: ['endpoints'] });
    if (action === 'delete') {
      notify(t('delete.done'));
      void navigate({ to: '/webhooks' });
      return;
    }
    void client.invalidateQueries({ queryKey: ['endpoint', endpoint.endpointId] });
    if (action === 'renew') setRenewed(result as WebhookSecret);
    else notify(t(`${action}.done`));
  }
  return (
    <>
      {verb !== undefined && (
        <ConfirmAction
          isOpen
          isDangerous={verb === 'disable' || verb === 'delete'}
          onClose={onClose}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={(result) => done(verb, result)}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`)}</p>
        </ConfirmAction>
      )}
      {renewed !== undefined && (
        <SecretOnce
          title={t('secret.renewed')}
          facts={[
            [t('secret.name'), renewed.secret],
            [t('publicKey'), renewed.publicKey],
          ]}
          onClose={() => setRenewed(undefined)}
        >
          {t('secret.overlap', { until: formats.time(renewed.previousUntil) })}
        </SecretOnce>
      )}
    </>
  );
}
