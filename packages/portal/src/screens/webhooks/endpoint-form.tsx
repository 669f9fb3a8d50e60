/** The form of an endpoint: URL and event types. */
import { Checkbox, MultiSelect, Select, Textarea, TextInput } from '@mantine/core';
import type { CreatedWebhookEndpoint, WebhookEndpoint } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { patternGroups, removeCoveredTypes } from './event-patterns.ts';
import { endpointsUrl, type LoadedEndpoint, useEventTypes } from './webhook-queries.ts';

type Draft = {
  readonly url: string;
  readonly description: string;
  readonly isAll: boolean;
  readonly patterns: readonly string[];
  readonly merchantId: string;
  readonly challenge: boolean;
};

const inlineErrorFields = ['url', 'description', 'eventTypes', 'merchantId'];

function draftOf(endpoint: WebhookEndpoint | undefined): Draft {
  const { url = '', description = '', eventTypes = ['*'], merchantId = '' } = endpoint ?? {};
  const isAll = eventTypes.includes('*');
  return {
    url,
    description,
    merchantId,
    challenge: false,
    isAll,
    patterns: isAll ? [] : eventTypes,
  };
}

const bodyOf = ({ url, description, isAll, patterns, merchantId }: Draft) => ({
  url: url.trim(),
  eventTypes: isAll ? ['*'] : [...patterns],
  ...(merchantId === '' ? {} : { merchantId }),
  ...(description.trim() === '' ? {} : { description: description.trim() }),
});

export function EndpointForm({
  loaded,
  onClose,
}: {
  /** If omitted, the form creates an endpoint. */
  readonly loaded?: LoadedEndpoint | undefined;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const client = useQueryClient();
  const navigate = useNavigate();
  const [base] = useState(loaded);
  const [draft, setDraft] = useState(() => draftOf(base?.endpoint));
  const [fault, setFault] = useState<unknown>(undefined);
  const [made, setMade] = useState<CreatedWebhookEndpoint | undefined>(undefined);
  const change = (next: Partial<Draft>) => setDraft((was) => ({ ...was, ...next }));
  const verb = base === undefined ? 'create' : 'edit';
  const send = (idempotencyKey: string): Promise<unknown> =>
    base === undefined
      ? api.post<CreatedWebhookEndpoint>(endpointsUrl, {
          body: { ...bodyOf(draft), ...(draft.challenge ? { challenge: true } : {}) },
          idempotencyKey,
        })
      : api.put<WebhookEndpoint>(`${endpointsUrl}/${base.endpoint.endpointId}`, {
          body: { ...bodyOf(draft), status: base.endpoint.status },
          headers: { 'if-match': base.etag },
        });
  function done(result: unknown): void {
    discardLists('["endpoints"');
    void client.invalidateQueries({ queryKey: ['endpoints'] });
    if (base === undefined) {
      setMade(result as CreatedWebhookEndpoint);
      return;
    }
    void client.invalidateQueries({ queryKey: ['endpoint', base.endpoint.endpointId] });
    showToast(t('edit.done'));
    onClose();
  }
  if (made !== undefined) {
    return (
      <OneTimeSecretDialog
        title={t('secret.made')}
        facts={[
          [t('secret.name'), made.secret],
          [t('publicKey'), made.publicKey],
        ]}
        onClose={() => {
          onClose();
          void navigate({ to: `/webhooks/${made.endpointId}` });
        }}
      >
        {t('secret.use')}
      </OneTimeSecretDialog>
    );
  }
  return (
    <ConfirmDialog
      isOpen
      size="lg"
      onClose={onClose}
      title={t(`${verb}.title`)}
      confirm={t(`${verb}.do`)}
      isDisabled={draft.url.trim() === '' || (!draft.isAll && draft.patterns.length === 0)}
      inlineErrorFields={[
        ...inlineErrorFields,
        ...draft.patterns.map((_, at) => `eventTypes.${at}`),
      ]}
      onFault={setFault}
      run={send}
      onDone={done}
    >
      <Fields draft={draft} fault={fault} onChange={change} isNew={base === undefined} />
    </ConfirmDialog>
  );
}

function Fields({
  draft,
  fault,
  onChange,
  isNew,
}: {
  readonly draft: Draft;
  readonly fault: unknown;
  readonly onChange: (change: Partial<Draft>) => void;
  readonly isNew: boolean;
}) {
  const t = useTranslate('webhooks');
  const faults = errorsByField(fault);
  const isOfOrganization = useSession().merchantId === undefined;
  const merchants = useEntityNames('merchants', isOfOrganization).data;
  return (
    <>
      <TextInput
        label={t('url')}
        description={t('urlHint')}
        placeholder="https://shop.example/webhooks"
        required
        type="url"
        maxLength={2000}
        autoComplete="off"
        data-autofocus
        value={draft.url}
        error={faults['url']}
        onChange={({ currentTarget: { value } }) => onChange({ url: value })}
      />
      <EventChoice draft={draft} faults={faults} onChange={onChange} />
      {isOfOrganization && merchants !== undefined && (
        <Select
          label={t('merchant')}
          description={t('merchantHint')}
          placeholder={t('allMerchants')}
          searchable
          clearable
          data={[...merchants].map(([value, label]) => ({ value, label }))}
          value={draft.merchantId === '' ? null : draft.merchantId}
          error={faults['merchantId']}
          onChange={(value) => onChange({ merchantId: value ?? '' })}
        />
      )}
      <Textarea
        label={t('description')}
        autosize
        minRows={1}
        maxRows={4}
        maxLength={500}
        value={draft.description}
        error={faults['description']}
        onChange={({ currentTarget: { value } }) => onChange({ description: value })}
      />
      {isNew && (
        <Checkbox
          label={t('challenge')}
          description={t('challengeHint')}
          checked={draft.challenge}
          onChange={({ currentTarget: { checked } }) => onChange({ challenge: checked })}
        />
      )}
    </>
  );
}

function EventChoice({
  draft,
  faults,
  onChange,
}: {
  readonly draft: Draft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<Draft>) => void;
}) {
  const t = useTranslate('webhooks');
  const types = useEventTypes().data?.items.map(({ type }) => type) ?? [];
  const fault = Object.entries(faults).find(([name]) => name.startsWith('eventTypes'))?.[1];
  return (
    <>
      <Checkbox
        label={t('allEvents')}
        description={t('allEventsHint')}
        checked={draft.isAll}
        onChange={({ currentTarget: { checked } }) => onChange({ isAll: checked })}
      />
      {!draft.isAll && (
        <MultiSelect
          label={t('events')}
          description={t('eventsHint')}
          searchable
          required
          hidePickedOptions
          maxDropdownHeight={260}
          data={patternGroups(types).map(({ group, items }) => ({ group, items: [...items] }))}
          value={[...draft.patterns]}
          error={fault}
          onChange={(patterns) => onChange({ patterns: removeCoveredTypes(patterns) })}
        />
      )}
    </>
  );
}
