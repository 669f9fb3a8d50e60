/** A list of points of sale, of all stores or of one. */
import type { PointOfSale } from '@switchyard/contract';
import { EntityName } from '../../components/values/entity-name.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

function columnsOf(
  t: Translate,
  showsStore: boolean,
  showsMerchant: boolean,
): Column<PointOfSale>[] {
  const store: Column<PointOfSale> = {
    id: 'store',
    header: t('fields.storeId'),
    cardPosition: 'sub',
    cell: ({ storeId }) => <EntityName kind="stores" id={storeId} />,
  };
  const merchant: Column<PointOfSale> = {
    id: 'merchant',
    header: t('fields.merchantId'),
    cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
  };
  return [
    {
      id: 'name',
      header: t('fields.name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    ...(showsStore ? [store] : []),
    ...(showsMerchant ? [merchant] : []),
    {
      id: 'externalId',
      header: t('fields.externalId'),
      ...(showsStore ? {} : { cardPosition: 'sub' as const }),
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

export function PointOfSaleList({ storeId }: { readonly storeId?: string }) {
  const t = useTranslate('estate');
  const session = useSession();
  const isOfAll = storeId === undefined;
  return (
    <EstateList<PointOfSale>
      kind="pointOfSale"
      address={estateApiUrls.pointsOfSale}
      icon="till"
      columns={columnsOf(t, isOfAll, isOfAll && session.merchantId === undefined)}
      rowKey={({ pointOfSaleId }) => pointOfSaleId}
      rowTo={({ pointOfSaleId }) => `/points-of-sale/${pointOfSaleId}`}
      owners={isOfAll ? ['merchantId', 'storeId'] : []}
      {...(isOfAll ? { views: 'points-of-sale' } : { within: { storeId } })}
    />
  );
}
