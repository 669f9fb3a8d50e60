/** The list of devices with live connection status, optionally of one merchant or store. */

import { type ConnectedDevice, defined } from '@switchyard/contract';
import { useLocation } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useEstateChangeCount } from '../estate/versioned-entities.ts';
import { ConnectionBadge } from './connection-badge.tsx';
import { DeviceCountTiles } from './device-counts.tsx';
import type { DeviceScope, LiveConnections } from './live-connections.ts';
import { useLiveConnections } from './use-live-connections.ts';
import './devices.css';

const filterNames = ['q', 'status', 'attention', 'merchantId', 'storeId'] as const;
type FilterName = (typeof filterNames)[number];
const attentions = ['NeverConnected', 'InStock', 'Disabled', 'CertificateEnding'];
const warnedMs = 30 * 86_400_000;

/** The model in a terminal serial number: `AXIUM_DX8000-10000001` is an AXIUM DX8000. */
export const modelOf = (tsn: string): string =>
  tsn.slice(0, tsn.lastIndexOf('-')).replaceAll('_', ' ');
export const serialOf = (tsn: string): string => tsn.slice(tsn.lastIndexOf('-') + 1);

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
  const merchant: Column<ConnectedDevice> = {
    id: 'merchant',
    header: t('merchant'),
    cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
  };
  const store: Column<ConnectedDevice> = {
    id: 'store',
    header: t('store'),
    cardPosition: 'sub',
    cell: ({ storeId }) =>
      storeId === undefined ? t('inStock') : <EntityName kind="stores" id={storeId} />,
  };
  return [
    {
      id: 'name',
      header: t('place'),
      cardPosition: 'lead',
      cell: ({ name, tsn }) => <TruncatedName>{name ?? serialOf(tsn)}</TruncatedName>,
    },
    {
      id: 'presence',
      header: t('connection'),
      width: '10.5rem',
      cardPosition: 'trail',
      cell: (row) => <ConnectionBadge connection={now(row)} enabled={row.enabled} />,
    },
    {
      id: 'seen',
      header: t('seen'),
      width: '10.5rem',
      cell: (row) => <DateTime at={now(row).lastSeenAt} />,
    },
    {
      id: 'model',
      header: t('model'),
      cell: ({ tsn }) => <TruncatedName>{modelOf(tsn)}</TruncatedName>,
    },
    {
      id: 'serial',
      header: t('serialNumber'),
      cardPosition: 'subtrail',
      cell: ({ tsn }) => <TruncatedName>{serialOf(tsn)}</TruncatedName>,
    },
    ...(within.storeId === undefined ? [store] : []),
    ...(within.merchantId === undefined && within.storeId === undefined ? [merchant] : []),
    {
      id: 'certificate',
      header: t('certificate'),
      width: '8.5rem',
      cell: ({ certificateExpiresAt }) => <CertificateEnd at={certificateExpiresAt} />,
    },
  ];
}

function useFields(t: Translate, within: DeviceScope): FilterField<FilterName>[] {
  const isOfAll = within.merchantId === undefined && within.storeId === undefined;
  const { merchantId } = useSession();
  const merchants = useEntityNames('merchants', isOfAll && merchantId === undefined).data;
  const stores = useEntityNames('stores', isOfAll).data;
  const choice = (name: FilterName, options: readonly string[], word: string) =>
    ({
      kind: 'choice',
      name,
      label: t(word),
      options: options.map((each) => ({
        value: each,
        label: t(`${word === 'status' ? 'statuses' : 'attentions'}.${each}`),
      })),
    }) as const;
  const toOptions = (names: ReadonlyMap<string, string> | undefined) =>
    [...(names ?? [])].map(([value, label]) => ({ value, label }));
  return [
    { kind: 'search', name: 'q', label: t('search') },
    choice('status', ['Online', 'Offline'], 'status'),
    choice('attention', attentions, 'attention'),
    ...(isOfAll && merchantId === undefined
      ? [
          {
            kind: 'choice',
            name: 'merchantId',
            label: t('merchant'),
            options: toOptions(merchants),
          } as const,
        ]
      : []),
    ...(isOfAll
      ? [
          {
            kind: 'choice',
            name: 'storeId',
            label: t('store'),
            options: toOptions(stores),
          } as const,
        ]
      : []),
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
  const [values, change] = useFilters(filterNames);
  const { q, status, attention } = values;
  const owners = isOfAll ? pickOwners(values) : within;
  const live = useLiveConnections(owners);
  const changes = useEstateChangeCount();
  const fields = useFields(t, within);
  const { pathname } = useLocation();
  const isNarrowed = Object.keys(values).length > 0;
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
      <FilterBar
        fields={fields}
        values={values}
        onChange={change}
        {...(isOfAll ? { views: 'devices' } : {})}
      />
      <DataTable
        label={t('title')}
        listKey={[
          'estate',
          'devices',
          owners,
          q,
          status,
          attention,
          changes,
          live.data?.generation ?? 0,
        ]}
        read={(cursor, signal) =>
          api.get<RowsPage<ConnectedDevice>>(estateApiUrls.presence, {
            query: { q, status, attention, ...owners, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, live.data, within)}
        rowKey={({ physicalDeviceId }) => physicalDeviceId}
        rowTo={({ physicalDeviceId }) => `/devices/${physicalDeviceId}`}
        empty={
          <EmptyState
            icon={isNarrowed ? 'search' : 'device'}
            title={t(isNarrowed ? 'none.title' : 'empty.title')}
          >
            {t(isNarrowed ? 'none.text' : 'empty.text')}
          </EmptyState>
        }
      />
    </>
  );
}

type Owners = { readonly merchantId?: string; readonly storeId?: string };

/** The filters that select the owner. */
function pickOwners({ merchantId, storeId }: DeviceScope): Owners {
  return defined({ merchantId, storeId });
}
