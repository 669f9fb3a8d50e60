/** Registers an application and shows its secret once. */
import './applications.css';
import { Radio, Select, TextInput } from '@mantine/core';
import type { RegisteredApplication, Store } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { type Draft, draftText, sectionFields } from '../../components/forms/form-fields.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { type Form, FormSections, useForm } from '../../components/forms/use-form.tsx';
import { Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { nameOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { type ApplicationKind, applicationKinds, kindPresets } from './application-kinds.ts';
import { useApplicationsApiUrl } from './application-queries.ts';
import { applicationInput, applicationSections, kindDraft } from './application-sections.ts';
import { RoleField } from './role-field.tsx';

export default function NewApplication() {
  const t = useTranslate('applications');
  const path = useApplicationsApiUrl();
  const navigate = useNavigate();
  const { organizationId, merchantId } = useSession();
  const [kind, setKind] = useState<ApplicationKind>('machine');
  const [made, setMade] = useState<RegisteredApplication | undefined>(undefined);
  const sections = (draft: Draft) => applicationSections(draft, kindPresets[kind].clientType, true);
  const form = useForm((draft) => sectionFields(sections(draft)), {
    preset: { ...kindDraft('machine'), entityId: merchantId ?? organizationId },
  });
  const open = (clientId: string) => void navigate({ to: `/applications/${clientId}` });
  function registered(application: RegisteredApplication): void {
    reloadData('applications');
    if (application.clientSecret !== undefined) setMade(application);
    else {
      showToast(t('create.done'));
      open(application.clientId);
    }
  }
  function choose(next: ApplicationKind): void {
    setKind(next);
    form.change(kindDraft(next));
  }
  return (
    <Page
      title={t('create.title')}
      lead={t('create.lead')}
      backLink={{ to: '/applications', label: t('title') }}
    >
      <PageForm
        {...form.confirmProps}
        confirm={t('create.do')}
        isDisabled={form.confirmProps.isDisabled || made !== undefined}
        onClose={() => void navigate({ to: '/applications' })}
        run={(idempotencyKey) =>
          api.post<RegisteredApplication>(path, {
            body: applicationInput(kind, form.body),
            idempotencyKey,
          })
        }
        onDone={registered}
      >
        <KindChoice value={kind} onChange={choose} />
        <FormSections
          t={t}
          form={form}
          sections={sections(form.draft)}
          customInputs={{ roles: RoleField, entityId: ScopeFields }}
          isTwoColumns
        />
      </PageForm>
      {made?.clientSecret !== undefined && (
        <OneTimeSecretDialog
          title={t('secret.made', { name: made.name })}
          facts={[
            [t('fields.clientId'), made.clientId],
            [t('clientSecret'), made.clientSecret],
          ]}
          onClose={() => open(made.clientId)}
        />
      )}
    </Page>
  );
}

function KindChoice({
  value,
  onChange,
}: {
  readonly value: ApplicationKind;
  readonly onChange: (kind: ApplicationKind) => void;
}) {
  const t = useTranslate('applications');
  return (
    <Radio.Group
      label={t('create.kind')}
      value={value}
      onChange={(next) => onChange(next as ApplicationKind)}
    >
      <div className="sy-app-kinds">
        {applicationKinds.map((kind) => (
          <Radio.Card
            key={kind}
            value={kind}
            className="sy-app-kind"
            aria-label={t(`kinds.${kind}`)}
          >
            <Radio.Indicator />
            <span>
              <strong>{t(`kinds.${kind}`)}</strong>
              <small>{t(`kindHints.${kind}`)}</small>
            </span>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}

const storesMost = 200;

function ScopeFields({ form }: { readonly form: Form }) {
  const { organizationId, organizationName, merchantId } = useSession();
  const t = useTranslate('applications');
  const mayRead = useHasPermission('prov.read');
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  // If the user may not read the stores, the application acts for all of them.
  if (merchantId !== undefined) return mayRead ? <StoreField form={form} /> : null;
  if (!mayRead) return <MerchantIdField form={form} />;
  const organization = { value: organizationId, label: organizationName ?? t('organization') };
  const entityId = draftText(form.draft['entityId']);
  return (
    <>
      <Select
        label={t('entity')}
        description={t('hints.entityId')}
        searchable
        allowDeselect={false}
        data={[organization, ...nameOptions(merchants)]}
        value={entityId}
        error={form.errorOf('entityId')}
        onChange={(value) => form.change({ entityId: value ?? organizationId, storeId: '' })}
      />
      {entityId !== organizationId && <StoreField form={form} />}
    </>
  );
}

/** Users that may not read merchants can enter a merchant identifier. */
function MerchantIdField({ form }: { readonly form: Form }) {
  const { organizationId } = useSession();
  const t = useTranslate('applications');
  const entityId = draftText(form.draft['entityId']);
  return (
    <TextInput
      label={t('fields.merchantId')}
      description={t('hints.merchantId')}
      maxLength={36}
      autoComplete="off"
      value={entityId === organizationId ? '' : entityId}
      error={form.errorOf('entityId')}
      onChange={({ currentTarget: { value } }) =>
        form.change({ entityId: value.trim() === '' ? organizationId : value.trim() })
      }
    />
  );
}

function StoreField({ form }: { readonly form: Form }) {
  const t = useTranslate('applications');
  const entityId = draftText(form.draft['entityId']);
  const { data } = useQuery({
    queryKey: ['stores-of', entityId],
    queryFn: ({ signal }) =>
      api.get<{ items: Store[] }>('/provisioning/v2/stores', {
        query: { merchantId: entityId, limit: storesMost },
        signal,
      }),
  });
  return (
    <Select
      label={t('store')}
      description={t('hints.storeId')}
      placeholder={t('allStores')}
      searchable
      clearable
      data={(data?.items ?? []).map(({ storeId, name }) => ({ value: storeId, label: name }))}
      value={draftText(form.draft['storeId']) || null}
      error={form.errorOf('storeId')}
      onChange={(value) => form.change({ storeId: value ?? '' })}
    />
  );
}
