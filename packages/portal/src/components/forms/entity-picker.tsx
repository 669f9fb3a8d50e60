/** Selects a merchant or a store by the beginning of its name. */
import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useTranslate } from '../../locales/index.ts';
import { useEntityName } from '../values/entity-name.tsx';

type FoundEntity = {
  readonly name: string;
  readonly merchantId?: string;
  readonly storeId?: string;
};

const displayLimit = 50;
const pauseMs = 250;

const idOf = (kind: 'merchants' | 'stores', { merchantId, storeId }: FoundEntity): string =>
  (kind === 'merchants' ? merchantId : storeId) ?? '';

/** The other properties are those of `Select`. */
export function EntityPicker({
  kind,
  value,
  onChange,
  ...input
}: Omit<SelectProps, 'data' | 'value' | 'onChange'> & {
  readonly kind: 'merchants' | 'stores';
  readonly value: string;
  readonly onChange: (id: string) => void;
}) {
  const t = useTranslate('components');
  const chosen = useEntityName(kind, value === '' ? undefined : value);
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed === chosen ? '' : typed.trim(), pauseMs);
  const search = useQuery({
    queryKey: ['estate', 'picker', kind, settled],
    queryFn: ({ signal }) =>
      api.get<{ items: FoundEntity[] }>(`/provisioning/v2/${kind}`, {
        query: { name: settled, limit: displayLimit },
        signal,
      }),
    enabled: input.disabled !== true,
  });
  const options = (search.data?.items ?? []).map((item) => ({
    value: idOf(kind, item),
    label: item.name,
  }));
  const isListed = value === '' || options.some((option) => option.value === value);
  return (
    <Select
      {...input}
      searchable
      clearable={input.required !== true}
      data={isListed ? options : [{ value, label: chosen ?? value }, ...options]}
      // The platform has already filtered the results.
      filter={({ options: all }) => all}
      nothingFoundMessage={search.isPending ? t('picker.looking') : t('picker.none')}
      searchValue={typed}
      onSearchChange={setTyped}
      value={value === '' ? null : value}
      onChange={(next) => onChange(next ?? '')}
    />
  );
}
