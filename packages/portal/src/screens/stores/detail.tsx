/** The page of a store: profile, logical devices, devices, points of sale and settings. */
import type { LogicalDevice, Store } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import { DeviceCountsPanel } from '../devices/device-counts.tsx';
import { DeviceList } from '../devices/list.tsx';
import {
  type DetailTab,
  LabelList,
  PageTabs,
  PostalAddress,
  StatusBadge,
  useCommonDetails,
  useTab,
} from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';
import { ServiceOverview, useCanReadConfiguration } from '../estate/service-overview.tsx';
import { PointOfSaleList } from '../points-of-sale/list.tsx';

const lists = new Set(['places', 'devices', 'pointsOfSale']);

function StoreProfile({ store }: { readonly store: Store }) {
  const t = useTranslate('estate');
  const common = useCommonDetails(store.storeId, store);
  const { storeId, merchantId } = store;
  return (
    <>
      <DeviceCountsPanel storeId={storeId} to={`/stores/${storeId}`} search={{ tab: 'devices' }} />
      <Panel title={t('sections.store')}>
        <DescriptionList
          items={[
            [
              t('fields.merchantId'),
              <Link key="merchant" className="sy-link" to={`/merchants/${merchantId}`}>
                <EntityName kind="merchants" id={merchantId} />
              </Link>,
            ],
            [
              t('sections.address'),
              store.address && <PostalAddress key="address" address={store.address} />,
            ],
            [t('fields.timeZone'), store.timeZone ?? t('ofMerchant')],
            ...common,
          ]}
        />
      </Panel>
      <LabelList labels={store.labels} />
    </>
  );
}

function useTabs(store: Store | undefined): DetailTab[] {
  const t = useTranslate('estate');
  const maySeeSettings = useCanReadConfiguration();
  if (store === undefined) return [];
  const { storeId } = store;
  const tab = (name: string, content: DetailTab['content']): DetailTab => ({
    name,
    label: t(`tabs.${name}`),
    content,
  });
  return [
    tab('data', <StoreProfile store={store} />),
    tab('places', <LogicalDeviceList storeId={storeId} />),
    tab('devices', <DeviceList storeId={storeId} />),
    tab('pointsOfSale', <PointOfSaleList storeId={storeId} />),
    ...(maySeeSettings
      ? [tab('settings', <ServiceOverview level="stores" entityId={storeId} />)]
      : []),
  ];
}

export default function StorePage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const storeId = usePathParam('storeId');
  const address = estateApiUrls.store(storeId);
  const query = useVersionedEntity<Store>(address);
  const mayWrite = useHasPermission('prov.write');
  const tabs = useTabs(query.data?.body);
  const [open, onOpen] = useTab(tabs.map(({ name }) => name));
  const backLink = { to: '/stores', label: t('kinds.store.many') };
  if (query.data === undefined) {
    return <PendingPage query={query} title={t('kinds.store.one')} backLink={backLink} />;
  }
  const { name, status } = query.data.body;
  return (
    <Page
      title={name}
      aside={<StatusBadge status={status} />}
      backLink={backLink}
      fill={lists.has(open)}
      actions={
        <EntityActions
          kind="store"
          address={address}
          versioned={query.data}
          editTo={`/stores/${storeId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: '/stores' })}
        >
          {mayWrite && open === 'places' && (
            <NewButton kind="place" to="/logical-devices/new" search={{ storeId }} />
          )}
          {mayWrite && open === 'pointsOfSale' && (
            <NewButton kind="pointOfSale" to="/points-of-sale/new" search={{ storeId }} />
          )}
        </EntityActions>
      }
    >
      <PageTabs label={name} tabs={tabs} open={open} onOpen={onOpen} />
    </Page>
  );
}

function LogicalDeviceList({ storeId }: { readonly storeId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<LogicalDevice>
      kind="place"
      path={estateApiUrls.places}
      icon="terminal"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        {
          header: t('hardware.title'),
          cardPosition: 'sub',
          cell: ({ physicalDeviceIds: { length } }) =>
            length === 0 ? t('hardware.none') : t('hardware.count', { count: length }),
        },
        textColumn(t('fields.externalId'), ({ externalId }) => externalId),
        timeColumn(t('created'), ({ createdAt }) => createdAt),
      ]}
      rowKey={({ logicalDeviceId }) => logicalDeviceId}
      rowTo={({ logicalDeviceId }) => `/logical-devices/${logicalDeviceId}`}
      within={{ storeId }}
    />
  );
}
