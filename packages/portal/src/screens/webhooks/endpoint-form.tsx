/** The form of an endpoint: URL and event types. */
import type { CreatedWebhookEndpoint, WebhookEndpoint } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import {
  type Body,
  type Draft,
  draftList,
  type Field,
} from '../../components/forms/form-fields.ts';
import { FormInputs, useForm } from '../../components/forms/use-form.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { nameOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { patternGroups, removeCoveredTypes } from './event-patterns.ts';
import { endpointsUrl, useEventTypes } from './webhook-queries.ts';

function useFields(isNew: boolean): (draft: Draft) => readonly Field[] {
  const t = useTranslate('webhooks');
  const isOfOrganization = useSession().merchantId === undefined;
  const merchants = useEntityNames('merchants', isOfOrganization).data;
  const types = useEventTypes().data?.items.map(({ type }) => type) ?? [];
  const merchant: Field = {
    name: 'merchantId',
    kind: 'choice',
    options: nameOptions(merchants),
    isSearchable: true,
    placeholder: t('allMerchants'),
    hasHint: true,
    isHidden: !isOfOrganization || merchants === undefined,
  };
  const challenge: Field = { name: 'challenge', kind: 'checkbox', hasHint: true };
  return ({ isAll }) => [
    {
      name: 'url',
      kind: 'url',
      max: 2000,
      placeholder: 'https://shop.example/webhooks',
      isRequired: true,
      hasHint: true,
    },
    { name: 'isAll', kind: 'checkbox', first: true, hasHint: true },
    {
      name: 'eventTypes',
      kind: 'choices',
      options: patternGroups(types),
      isSearchable: true,
      isRequired: isAll !== true,
      hasHint: true,
      isHidden: isAll === true,
    },
    merchant,
    { name: 'description', kind: 'paragraph', max: 500, rows: 1 },
    ...(isNew ? [challenge] : []),
  ];
}

/** The endpoint as the form shows it: the pattern of all events is a checkbox. */
function formValues({ eventTypes, ...endpoint }: WebhookEndpoint): Body {
  const isAll = eventTypes.includes('*');
  return { ...endpoint, isAll, eventTypes: isAll ? [] : eventTypes };
}

function requestOf({ isAll, eventTypes, challenge, ...body }: Body): Body {
  return {
    ...body,
    eventTypes: isAll === true ? ['*'] : eventTypes,
    ...(challenge === true && { challenge }),
  };
}

export function EndpointForm({
  loaded,
  onClose,
}: {
  /** If omitted, the form creates an endpoint. */
  readonly loaded?: Versioned<WebhookEndpoint> | undefined;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const navigate = useNavigate();
  const [base] = useState(loaded);
  const [made, setMade] = useState<CreatedWebhookEndpoint | undefined>(undefined);
  const form = useForm(useFields(base === undefined), {
    before: base && formValues(base.body),
    unchanged: base && { status: base.body.status },
  });
  const verb = base === undefined ? 'create' : 'edit';
  /** A group pattern replaces the types of its group. */
  const change = (values: Draft) =>
    form.change(
      'eventTypes' in values
        ? { eventTypes: removeCoveredTypes(draftList(values['eventTypes'])) }
        : values,
    );
  const send = async (idempotencyKey: string): Promise<CreatedWebhookEndpoint | undefined> => {
    const body = requestOf(form.body);
    if (base === undefined) return api.post(endpointsUrl, { body, idempotencyKey });
    await replaceVersioned(`${endpointsUrl}/${base.body.endpointId}`, base.etag, body);
    return undefined;
  };
  function done(created: CreatedWebhookEndpoint | undefined): void {
    reloadData('endpoints', 'endpoint');
    setMade(created);
    if (created !== undefined) return;
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
      {...form.confirmProps}
      isOpen
      size="lg"
      onClose={onClose}
      title={t(`${verb}.title`)}
      confirm={t(`${verb}.do`)}
      run={send}
      onDone={done}
    >
      <FormInputs form={{ ...form, change }} t={t} />
    </ConfirmDialog>
  );
}
