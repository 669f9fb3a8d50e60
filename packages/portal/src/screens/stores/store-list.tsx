/** A list of stores, of all merchants or of one. */
import type { Store } from '@switchyard/contract';
import { EntityName } from '../../components/values/entity-name.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

function columnsOf(t: Translate, showsMerchant: boolean): Column<Store>[] {
  const merchant: Column<Store> = {
    id: 'merchant',
    header: t('fields.merchantId'),
    cardPosition: 'sub',
    cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
  };
  return [
    {
      id: 'name',
      header: t('fields.name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    ...(showsMerchant ? [merchant] : []),
    {
      id: 'externalId',
      header: t('fields.externalId'),
      cell: ({ externalId }) => <TruncatedName>{externalId}</TruncatedName>,
    },
    {
      id: 'city',
      header: t('fields.address.city'),
      ...(showsMerchant ? {} : { cardPosition: 'sub' as const }),
      cell: ({ address }) => <TruncatedName>{address?.city}</TruncatedName>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ];
}

export function StoreList({ merchantId }: { readonly merchantId?: string }) {
  const t = useTranslate('estate');
  const session = useSession();
  const isOfAll = merchantId === undefined;
  return (
    <EstateList<Store>
      kind="store"
      address={estateApiUrls.stores}
      icon="store"
      columns={columnsOf(t, isOfAll && session.merchantId === undefined)}
      rowKey={({ storeId }) => storeId}
      rowTo={({ storeId }) => `/stores/${storeId}`}
      owners={isOfAll ? ['merchantId'] : []}
      {...(isOfAll ? { views: 'stores' } : { within: { merchantId } })}
    />
  );
}
