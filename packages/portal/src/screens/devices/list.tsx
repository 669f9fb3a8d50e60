/** The list of all devices. */
import './devices.css';
import { type ConnectedDevice, defined, parseTsn } from '@switchyard/contract';
import { useLocation } from '@tanstack/react-router';
import { Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { TruncatedName } from '../../components/values/values.tsx';
import type { FilterField } from '../../filters/filter-bar.tsx';
import { nameOptions, type Option, translatedOptions } from '../../filters/filter-options.ts';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { nameColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { NewButton } from '../estate/new-button.tsx';
import { ConnectionBadge } from './connection-badge.tsx';
import { DeviceCountTiles } from './device-counts.tsx';
import type { DeviceScope, LiveConnections } from './live-connections.ts';
import { useLiveConnections } from './use-live-connections.ts';

export default function Devices() {
  const t = useTranslate('devices');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('title')}
      actions={mayMake && <NewButton kind="device" to="/devices/new" />}
      fill
    >
      <DeviceList />
    </Page>
  );
}

const filterNames = ['q', 'status', 'attention', 'merchantId', 'storeId'] as const;
const attentions = ['NeverConnected', 'InStock', 'Disabled', 'CertificateEnding'];
const warnedMs = 30 * 86_400_000;

/** The model in a terminal serial number: `AXIUM_DX8000-10000001` is an AXIUM DX8000. */
const modelOf = (tsn: string): string => parseTsn(tsn).makeAndModel.replaceAll('_', ' ');

function CertificateEnd({ at }: { readonly at: string | undefined }) {
  const formats = useFormats();
  if (at === undefined) return <TruncatedName>{undefined}</TruncatedName>;
  const isNear = Date.parse(at) < nowMs() + warnedMs;
  return (
    <time className={isNear ? 'sy-near-end' : undefined} dateTime={at}>
      {formats.date(at)}
    </time>
  );
}

function columnsOf(
  t: Translate,
  live: LiveConnections | undefined,
  within: DeviceScope,
): Column<ConnectedDevice>[] {
  const now = (row: ConnectedDevice) =>
    live?.connections.get(row.physicalDeviceId) ?? row.connection;
  const merchant = nameColumn<ConnectedDevice>(
    t('merchant'),
    'merchants',
    ({ merchantId }) => merchantId,
  );
  const store: Column<ConnectedDevice> = {
    header: t('store'),
    cardPosition: 'sub',
    cell: ({ storeId }) =>
      storeId === undefined ? t('inStock') : <EntityName kind="stores" id={storeId} />,
  };
  return [
    textColumn(t('place'), ({ name, tsn }) => name ?? parseTsn(tsn).serialNumber, 'lead'),
    {
      header: t('connection'),
      width: '10.5rem',
      cardPosition: 'trail',
      cell: (row) => <ConnectionBadge connection={now(row)} enabled={row.enabled} />,
    },
    timeColumn(t('seen'), (row) => now(row).lastSeenAt),
    textColumn(t('model'), ({ tsn }) => modelOf(tsn)),
    textColumn(t('serialNumber'), ({ tsn }) => parseTsn(tsn).serialNumber, 'subtrail'),
    ...(within.storeId === undefined ? [store] : []),
    ...(within.merchantId === undefined && within.storeId === undefined ? [merchant] : []),
    {
      header: t('certificate'),
      width: '8.5rem',
      cell: ({ certificateExpiresAt }) => <CertificateEnd at={certificateExpiresAt} />,
    },
  ];
}

function useFilterFields(t: Translate, isOfAll: boolean): FilterField<string>[] {
  const ofMerchants = useSession().merchantId === undefined && isOfAll;
  const merchants = useEntityNames('merchants', ofMerchants).data;
  const stores = useEntityNames('stores', isOfAll).data;
  const choice = (name: string, label: string, options: readonly Option[]) =>
    ({ kind: 'choice', name, label: t(label), options }) as const;
  return [
    { kind: 'search', name: 'q', label: t('search') },
    choice('status', 'status', translatedOptions(t, 'statuses', ['Online', 'Offline'])),
    choice('attention', 'attention', translatedOptions(t, 'attentions', attentions)),
    ...(ofMerchants ? [choice('merchantId', 'merchant', nameOptions(merchants))] : []),
    ...(isOfAll ? [choice('storeId', 'store', nameOptions(stores))] : []),
  ];
}

export function DeviceList({
  merchantId,
  storeId,
}: {
  readonly merchantId?: string;
  readonly storeId?: string;
}) {
  const t = useTranslate('devices');
  const within: DeviceScope = { merchantId, storeId };
  const isOfAll = merchantId === undefined && storeId === undefined;
  const [values] = useFilters(filterNames);
  const owners = isOfAll ? pickOwners(values) : within;
  const live = useLiveConnections(owners);
  const { pathname } = useLocation();
  return (
    <>
      {live.data !== undefined && live.data.counts.devices > 0 && (
        <DeviceCountTiles
          counts={live.data.counts}
          to={pathname.replace(/^\/portal/, '')}
          search={isOfAll ? pickOwners(values) : { tab: 'devices' }}
          current={values}
        />
      )}
      <ResourceList
        label={t('title')}
        name="estate"
        path={estateApiUrls.presence}
        filters={useFilterFields(t, isOfAll)}
        queryFor={({ q, status, attention }) => ({ q, status, attention, ...owners })}
        version={live.data?.generation ?? 0}
        views={isOfAll ? 'devices' : undefined}
        columns={columnsOf(t, live.data, within)}
        rowKey={({ physicalDeviceId }) => physicalDeviceId}
        rowTo={({ physicalDeviceId }) => `/devices/${physicalDeviceId}`}
        empty={{ icon: 'device', title: t('empty.title'), text: t('empty.text') }}
        noMatch={{ title: t('none.title'), text: t('none.text') }}
      />
    </>
  );
}

type Owners = { readonly merchantId?: string; readonly storeId?: string };

/** The filters that select the owner. */
function pickOwners({ merchantId, storeId }: DeviceScope): Owners {
  return defined({ merchantId, storeId });
}
