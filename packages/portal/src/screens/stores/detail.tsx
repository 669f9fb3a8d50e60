/** One store: what it is, its places, devices, points of sale and settings. */
import type { Store } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/use-param.ts';
import { EntityName } from '../../parts/entity-name.tsx';
import { Facts, Page, Panel } from '../../parts/page.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/kinds.ts';
import { NewButton } from '../estate/new-button.tsx';
import {
  LabelList,
  PageInWait,
  PageTabs,
  PostalAddress,
  StatusBadge,
  type Tab,
  useCommonFacts,
  useTab,
} from '../estate/page-parts.tsx';
import { ServiceSettings, useMaySeeSettings } from '../estate/service-settings.tsx';
import { useVersioned } from '../estate/versioned.ts';
import { Fleet } from '../fleet/fleet.tsx';
import { FleetCounts } from '../fleet/fleet-counts.tsx';
import { PointOfSaleList } from '../points-of-sale/point-of-sale-list.tsx';
import { Places } from './places.tsx';

const lists = new Set(['places', 'devices', 'pointsOfSale']);

function StoreProfile({ of }: { readonly of: Store }) {
  const t = useWords('estate');
  const common = useCommonFacts(of.storeId, of);
  const { storeId, merchantId } = of;
  return (
    <>
      <FleetCounts storeId={storeId} to={`/stores/${storeId}`} search={{ tab: 'devices' }} />
      <Panel title={t('sections.store')}>
        <Facts
          items={[
            [
              t('fields.merchantId'),
              <Link key="merchant" className="sy-link" to={`/merchants/${merchantId}`}>
                <EntityName kind="merchants" id={merchantId} />
              </Link>,
            ],
            [t('sections.address'), of.address && <PostalAddress key="address" of={of.address} />],
            [t('fields.timeZone'), of.timeZone ?? t('ofMerchant')],
            ...common,
          ]}
        />
      </Panel>
      <LabelList labels={of.labels} />
    </>
  );
}

function useTabs(store: Store | undefined): Tab[] {
  const t = useWords('estate');
  const maySeeSettings = useMaySeeSettings();
  if (store === undefined) return [];
  const { storeId } = store;
  const tab = (name: string, content: Tab['content']): Tab => ({
    name,
    label: t(`tabs.${name}`),
    content,
  });
  return [
    tab('data', <StoreProfile of={store} />),
    tab('places', <Places storeId={storeId} />),
    tab('devices', <Fleet storeId={storeId} />),
    tab('pointsOfSale', <PointOfSaleList storeId={storeId} />),
    ...(maySeeSettings
      ? [tab('settings', <ServiceSettings level="stores" entityId={storeId} />)]
      : []),
  ];
}

export default function StorePage() {
  const t = useWords('estate');
  const navigate = useNavigate();
  const storeId = useParam('storeId');
  const address = addresses.store(storeId);
  const query = useVersioned<Store>(address);
  const mayWrite = useCan('prov.write');
  const tabs = useTabs(query.data?.body);
  const [open, onOpen] = useTab(tabs.map(({ name }) => name));
  const back = { to: '/stores', label: t('kinds.store.many') };
  if (query.data === undefined) {
    return <PageInWait of={query} title={t('kinds.store.one')} back={back} />;
  }
  const { name, status } = query.data.body;
  return (
    <Page
      title={name}
      aside={<StatusBadge status={status} />}
      back={back}
      fill={lists.has(open)}
      actions={
        <EntityActions
          kind="store"
          address={address}
          of={query.data}
          editTo={`/stores/${storeId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: '/stores' })}
        >
          {mayWrite && open === 'places' && (
            <NewButton kind="place" to="/places/new" search={{ storeId }} />
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
