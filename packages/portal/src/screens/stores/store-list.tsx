/** Stores: of all merchants, or of one. */
import type { Store } from '@switchyard/contract';
import { EntityName } from '../../parts/entity-name.tsx';
import { Name, Time } from '../../parts/values.tsx';
import { useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { useWords, type Words } from '../../words/index.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { addresses } from '../estate/kinds.ts';

function columnsOf(t: Words, showsMerchant: boolean): Column<Store>[] {
  const merchant: Column<Store> = {
    id: 'merchant',
    header: t('fields.merchantId'),
    narrow: 'sub',
    cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
  };
  return [
    {
      id: 'name',
      header: t('fields.name'),
      narrow: 'lead',
      cell: ({ name }) => <Name>{name}</Name>,
    },
    ...(showsMerchant ? [merchant] : []),
    {
      id: 'externalId',
      header: t('fields.externalId'),
      cell: ({ externalId }) => <Name>{externalId}</Name>,
    },
    {
      id: 'city',
      header: t('fields.address.city'),
      ...(showsMerchant ? {} : { narrow: 'sub' as const }),
      cell: ({ address }) => <Name>{address?.city}</Name>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ];
}

export function StoreList({ merchantId }: { readonly merchantId?: string }) {
  const t = useWords('estate');
  const session = useSession();
  const isOfAll = merchantId === undefined;
  return (
    <EstateList<Store>
      kind="store"
      address={addresses.stores}
      icon="store"
      columns={columnsOf(t, isOfAll && session.merchantId === undefined)}
      rowKey={({ storeId }) => storeId}
      rowTo={({ storeId }) => `/stores/${storeId}`}
      owners={isOfAll ? ['merchantId'] : []}
      {...(isOfAll ? { views: 'stores' } : { within: { merchantId } })}
    />
  );
}
