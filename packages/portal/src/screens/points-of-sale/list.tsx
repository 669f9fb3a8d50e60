/** The list of all points of sale. */
import type { PointOfSale } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { nameColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';

export default function PointsOfSale() {
  const t = useTranslate('estate');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('kinds.pointOfSale.many')}
      actions={mayMake && <NewButton kind="pointOfSale" to="/points-of-sale/new" />}
      fill
    >
      <PointOfSaleList />
    </Page>
  );
}

export function PointOfSaleList({ storeId }: { readonly storeId?: string }) {
  const t = useTranslate('estate');
  const isOfAll = storeId === undefined;
  const showsMerchant = useSession().merchantId === undefined && isOfAll;
  const store = nameColumn<PointOfSale>(t('fields.storeId'), 'stores', (row) => row.storeId, 'sub');
  const merchant = nameColumn<PointOfSale>(
    t('fields.merchantId'),
    'merchants',
    ({ merchantId }) => merchantId,
  );
  return (
    <EstateList<PointOfSale>
      kind="pointOfSale"
      path={estateApiUrls.pointsOfSale}
      icon="till"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        ...(isOfAll ? [store] : []),
        ...(showsMerchant ? [merchant] : []),
        textColumn(
          t('fields.externalId'),
          ({ externalId }) => externalId,
          isOfAll ? undefined : 'sub',
        ),
        timeColumn(t('created'), ({ createdAt }) => createdAt),
      ]}
      rowKey={({ pointOfSaleId }) => pointOfSaleId}
      rowTo={({ pointOfSaleId }) => `/points-of-sale/${pointOfSaleId}`}
      owners={isOfAll ? ['merchantId', 'storeId'] : []}
      within={{ storeId }}
      views={isOfAll ? 'points-of-sale' : undefined}
    />
  );
}
