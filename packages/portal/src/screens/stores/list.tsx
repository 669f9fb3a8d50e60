/** The list of all stores. */
import type { Store } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { nameColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';

export default function Stores() {
  const t = useTranslate('estate');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('kinds.store.many')}
      actions={mayMake && <NewButton kind="store" to="/stores/new" />}
      fill
    >
      <StoreList />
    </Page>
  );
}

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
