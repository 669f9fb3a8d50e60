/** Selects the scope of an application: the organisation, a merchant or a store. */
import { Select, TextInput } from '@mantine/core';
import type { Store } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import type { ApplicationFieldsProps } from './application-fields.tsx';

const storesMost = 200;

export function ScopeFields(props: ApplicationFieldsProps) {
  const { organizationId, organizationName, merchantId } = useSession();
  const t = useTranslate('applications');
  const mayRead = useHasPermission('prov.read');
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const { draft, faults, onChange } = props;
  // If the user may not read the stores, the application acts for all of them.
  if (merchantId !== undefined) return mayRead ? <StoreField {...props} /> : null;
  if (!mayRead) return <MerchantIdField {...props} />;
  return (
    <>
      <Select
        label={t('entity')}
        description={t('entityHint')}
        searchable
        allowDeselect={false}
        data={[
          { value: organizationId, label: organizationName ?? t('organization') },
          ...[...(merchants ?? [])].map(([value, label]) => ({ value, label })),
        ]}
        value={draft.entityId}
        error={faults['entityId']}
        onChange={(value) => onChange({ entityId: value ?? organizationId, storeId: '' })}
      />
      {draft.entityId !== organizationId && <StoreField {...props} />}
    </>
  );
}

/** Users that may not read merchants can enter a merchant identifier. */
function MerchantIdField({ draft, faults, onChange }: ApplicationFieldsProps) {
  const { organizationId } = useSession();
  const t = useTranslate('applications');
  return (
    <TextInput
      label={t('merchantId')}
      description={t('merchantIdHint')}
      maxLength={36}
      autoComplete="off"
      value={draft.entityId === organizationId ? '' : draft.entityId}
      error={faults['entityId']}
      onChange={({ currentTarget: { value } }) =>
        onChange({ entityId: value.trim() === '' ? organizationId : value.trim() })
      }
    />
  );
}

function StoreField({ draft, faults, onChange }: ApplicationFieldsProps) {
  const t = useTranslate('applications');
  const { entityId } = draft;
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
      description={t('storeHint')}
      placeholder={t('allStores')}
      searchable
      clearable
      data={(data?.items ?? []).map(({ storeId, name }) => ({ value: storeId, label: name }))}
      value={draft.storeId === '' ? null : draft.storeId}
      error={faults['storeId']}
      onChange={(value) => onChange({ storeId: value ?? '' })}
    />
  );
}
