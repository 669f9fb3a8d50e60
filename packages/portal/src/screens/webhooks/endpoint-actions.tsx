/**
 * The actions of an endpoint: test, edit, rotate the secret, enable, disable, replay and delete.
 */
import { Button, Checkbox, Radio, Select, TextInput } from '@mantine/core';
import type { WebhookDelivery, WebhookEndpoint, WebhookSecret } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { subtractDays } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { endpointsUrl, statusUpdate, useEventTypes } from './webhook-queries.ts';

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

function EnableDialog({
  loaded: { body: endpoint, etag },
  onClose,
}: {
  readonly loaded: Versioned<WebhookEndpoint>;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const [catchesUp, setCatchesUp] = useState(endpoint.missedEvents === true);
  const path = `${endpointsUrl}/${endpoint.endpointId}`;
  const [isEnabled, setEnabled] = useState(false);
  async function enable(idempotencyKey: string): Promise<void> {
    // If only the replay failed, only the replay is repeated.
    if (!isEnabled) {
      await replaceVersioned(path, etag, statusUpdate(endpoint, 'Enabled'));
      setEnabled(true);
    }
    if (catchesUp) await api.post(`${path}/replay`, { body: {}, idempotencyKey });
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('enable.title')}
      confirm={t('enable.do')}
      run={enable}
      onDone={() => {
        reloadData('endpoints', 'endpoint', 'deliveries', 'recent-deliveries');
        showToast(t('enable.done'));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('enable.text')}</p>
      <Checkbox
        label={t('enable.replay')}
        description={t('enable.replayHint')}
        checked={catchesUp}
        onChange={({ currentTarget: { checked } }) => setCatchesUp(checked)}
      />
    </ConfirmDialog>
  );
}

const plainTest = 'endpoint.test';

function TestEventDialog({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const navigate = useNavigate();
  const types = useEventTypes().data?.items ?? [];
  const [type, setType] = useState(plainTest);
  const example = types.find((each) => each.type === type)?.example;
  return (
    <ConfirmDialog
      isOpen
      size="lg"
      onClose={onClose}
      title={t('test.title')}
      confirm={t('test.do')}
      run={(idempotencyKey) =>
        api.post<WebhookDelivery>(`${endpointsUrl}/${endpointId}/test`, {
          body: { type },
          idempotencyKey,
        })
      }
      onDone={({ deliveryId }) => {
        reloadData('deliveries');
        showToast(t('test.done'));
        onClose();
        void navigate({ to: `/webhooks/deliveries/${deliveryId}` });
      }}
    >
      <p className="sy-dialogue-text">{t('test.text')}</p>
      <Select
        label={t('type')}
        searchable
        allowDeselect={false}
        maxDropdownHeight={260}
        data={[...new Set([plainTest, ...types.map((each) => each.type)])]}
        value={type}
        onChange={(value) => setType(value ?? plainTest)}
      />
      {example !== undefined && (
        <CodeBlock text={JSON.stringify(example, undefined, 2)} label={t('test.example')} />
      )}
    </ConfirmDialog>
  );
}

function ReplayDialog({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const [range, setWhat] = useState('missed');
  const [days, setDays] = useState({ from: '', to: '' });
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const isTime = range === 'time';
  // The last day is included.
  const body = isTime
    ? {
        from: formats.dayStart(days.from),
        ...(days.to === '' ? {} : { to: formats.dayStart(subtractDays(days.to, -1)) }),
      }
    : {};
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('replay.title')}
      confirm={t('replay.do')}
      isDisabled={isTime && days.from === ''}
      inlineErrorFields={['from', 'to']}
      onFault={setFault}
      run={(idempotencyKey) =>
        api.post(`${endpointsUrl}/${endpointId}/replay`, { body, idempotencyKey })
      }
      onDone={() => {
        reloadData('deliveries', 'recent-deliveries');
        showToast(t('replay.done'));
        onClose();
      }}
    >
      <Radio.Group label={t('replay.what')} value={range} onChange={setWhat}>
        <div className="sy-hook-choices">
          {['missed', 'time'].map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`replay.${each}`)}
              description={t(`replay.${each}Hint`)}
            />
          ))}
        </div>
      </Radio.Group>
      {isTime && (
        <div className="sy-hook-days">
          {(['from', 'to'] as const).map((name) => (
            <TextInput
              key={name}
              type="date"
              label={t(`replay.${name}`)}
              value={days[name]}
              error={faults[name]}
              onChange={({ currentTarget: { value } }) => setDays({ ...days, [name]: value })}
            />
          ))}
        </div>
      )}
    </ConfirmDialog>
  );
}
