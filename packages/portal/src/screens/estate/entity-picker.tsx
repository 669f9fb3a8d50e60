/** Selects a merchant or a store by the beginning of its name. */
import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useEntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';

type FoundEntity = {
  readonly name: string;
  readonly merchantId?: string;
  readonly storeId?: string;
};

const displayLimit = 50;
const pauseMs = 250;

const idOf = (kind: 'merchants' | 'stores', { merchantId, storeId }: FoundEntity): string =>
  (kind === 'merchants' ? merchantId : storeId) ?? '';

export function EntityPicker({
  kind,
  label,
  description,
  value,
  error,
  isRequired = false,
  isDisabled = false,
  merchantId,
  onChange,
}: {
  readonly kind: 'merchants' | 'stores';
  readonly label: string;
  readonly description?: string | undefined;
  readonly value: string;
  readonly error?: string | undefined;
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
  /** Lists only the stores of this merchant. */
  readonly merchantId?: string | undefined;
  readonly onChange: (id: string) => void;
}) {
  const t = useTranslate('estate');
  const chosen = useEntityName(kind, value === '' ? undefined : value);
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed === chosen ? '' : typed.trim(), pauseMs);
  const search = useQuery({
    queryKey: ['estate', 'picker', kind, merchantId, settled],
    queryFn: ({ signal }) =>
      api.get<{ items: FoundEntity[] }>(`/provisioning/v2/${kind}`, {
        query: { name: settled, merchantId, limit: displayLimit },
        signal,
      }),
    enabled: !isDisabled,
  });
  const options = (search.data?.items ?? []).map((item) => ({
    value: idOf(kind, item),
    label: item.name,
  }));
  const isListed = value === '' || options.some((option) => option.value === value);
  return (
    <Select
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      required={isRequired}
      disabled={isDisabled}
      searchable
      clearable={!isRequired}
      data={isListed ? options : [{ value, label: chosen ?? value }, ...options]}
      // The platform has already filtered the results.
      filter={({ options: all }) => all}
      nothingFoundMessage={search.isPending ? t('picker.looking') : t('picker.none')}
      searchValue={typed}
      onSearchChange={setTyped}
      value={value === '' ? null : value}
      error={error}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}
