/** A list of stores, of all merchants or of one. */
import type { Store } from '@switchyard/contract';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { nameColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

export function StoreList({ merchantId }: { readonly merchantId?: string }) {
  const t = useTranslate('estate');
  const isOfAll = merchantId === undefined;
  const showsMerchant = useSession().merchantId === undefined && isOfAll;
  const merchant = nameColumn<Store>(
    t('fields.merchantId'),
    'merchants',
    (store) => store.merchantId,
    'sub',
  );
  return (
    <EstateList<Store>
      kind="store"
      path={estateApiUrls.stores}
      icon="store"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        ...(showsMerchant ? [merchant] : []),
        textColumn(t('fields.externalId'), ({ externalId }) => externalId),
        textColumn(
          t('fields.address.city'),
          ({ address }) => address?.city,
          showsMerchant ? undefined : 'sub',
        ),
        timeColumn(t('created'), ({ createdAt }) => createdAt),
      ]}
      rowKey={({ storeId }) => storeId}
      rowTo={({ storeId }) => `/stores/${storeId}`}
      owners={isOfAll ? ['merchantId'] : []}
      within={{ merchantId }}
      views={isOfAll ? 'stores' : undefined}
    />
  );
}
