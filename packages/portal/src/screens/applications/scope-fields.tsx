/** For whom an application acts: the organisation, one of its merchants, or one store of that merchant. */
import { Select, TextInput } from '@mantine/core';
import type { Store } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useNames } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import type { FieldsProps } from './application-fields.tsx';

const storesMost = 200;

export function PlaceFields(props: FieldsProps) {
  const { organizationId, organizationName, merchantId } = useSession();
  const t = useTranslate('applications');
  const mayRead = useCan('prov.read');
  const merchants = useNames('merchants', merchantId === undefined).data;
  const { draft, faults, onChange } = props;
  // Without the stores of the merchant the application acts for all of them.
  if (merchantId !== undefined) return mayRead ? <StoreField {...props} /> : null;
  if (!mayRead) return <PlainPlace {...props} />;
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

/** Whoever may not read merchants may know the identifier of one. */
function PlainPlace({ draft, faults, onChange }: FieldsProps) {
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

function StoreField({ draft, faults, onChange }: FieldsProps) {
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
