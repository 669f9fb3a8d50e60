/** Selects the scope of an application: the organisation, a merchant or a store. */
import { Select, TextInput } from '@mantine/core';
import type { Store } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Form } from '../../components/forms/form.tsx';
import { draftText } from '../../components/forms/form-fields.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { nameOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';

const storesMost = 200;

export function ScopeFields({ form }: { readonly form: Form }) {
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
