/** The logical devices of a store, with or without hardware. */
import type { LogicalDevice } from '@switchyard/contract';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Column } from '../../table/data-table.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

function columnsOf(t: Translate): Column<LogicalDevice>[] {
  return [
    {
      id: 'name',
      header: t('fields.name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'hardware',
      header: t('hardware.title'),
      cardPosition: 'sub',
      cell: ({ physicalDeviceIds: { length } }) =>
        length === 0 ? t('hardware.none') : t('hardware.count', { count: length }),
    },
    {
      id: 'externalId',
      header: t('fields.externalId'),
      cell: ({ externalId }) => <TruncatedName>{externalId}</TruncatedName>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ];
}

export function LogicalDeviceList({ storeId }: { readonly storeId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<LogicalDevice>
      kind="place"
      address={estateApiUrls.places}
      icon="terminal"
      columns={columnsOf(t)}
      rowKey={({ logicalDeviceId }) => logicalDeviceId}
      rowTo={({ logicalDeviceId }) => `/places/${logicalDeviceId}`}
      within={{ storeId }}
    />
  );
}
