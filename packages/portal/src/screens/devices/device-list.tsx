/** Devices with their connections: of all, of a merchant or of a store; who comes and goes is seen at once. */

import { type ConnectedDevice, defined } from '@switchyard/contract';
import { useLocation } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../components/layout/page.tsx';
import { EntityName, useNames } from '../../components/values/entity-name.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { addresses } from '../estate/entity-kinds.ts';
import { useEstateChanges } from '../estate/versioned-entities.ts';
import { Presence } from './connection-badge.tsx';
import { CountTiles } from './device-counts.tsx';
import type { Live, Within } from './live-connections.ts';
import { useLive } from './use-live-connections.ts';
import './devices.css';

const filterNames = ['q', 'status', 'attention', 'merchantId', 'storeId'] as const;
type FilterName = (typeof filterNames)[number];
const attentions = ['NeverConnected', 'InStock', 'Disabled', 'CertificateEnding'];
const warnedMs = 30 * 86_400_000;

/** `AXIUM_DX8000-10000001` is an AXIUM DX8000. */
export const modelOf = (tsn: string): string =>
  tsn.slice(0, tsn.lastIndexOf('-')).replaceAll('_', ' ');
export const serialOf = (tsn: string): string => tsn.slice(tsn.lastIndexOf('-') + 1);

function CertificateEnd({ at }: { readonly at: string | undefined }) {
  const formats = useFormats();
  if (at === undefined) return <Name>{undefined}</Name>;
  const isNear = Date.parse(at) < nowMs() + warnedMs;
  return (
    <time className={isNear ? 'sy-near-end' : undefined} dateTime={at}>
      {formats.date(at)}
    </time>
  );
}

function columnsOf(
  t: Translate,
  live: Live | undefined,
  within: Within,
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
    narrow: 'sub',
    cell: ({ storeId }) =>
      storeId === undefined ? t('inStock') : <EntityName kind="stores" id={storeId} />,
  };
  return [
    {
      id: 'name',
      header: t('place'),
      narrow: 'lead',
      cell: ({ name, tsn }) => <Name>{name ?? serialOf(tsn)}</Name>,
    },
    {
      id: 'presence',
      header: t('connection'),
      width: '10.5rem',
      narrow: 'trail',
      cell: (row) => <Presence connection={now(row)} enabled={row.enabled} />,
    },
    {
      id: 'seen',
      header: t('seen'),
      width: '10.5rem',
      cell: (row) => <Time at={now(row).lastSeenAt} />,
    },
    { id: 'model', header: t('model'), cell: ({ tsn }) => <Name>{modelOf(tsn)}</Name> },
    {
      id: 'serial',
      header: t('serialNumber'),
      narrow: 'subtrail',
      cell: ({ tsn }) => <Name>{serialOf(tsn)}</Name>,
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

function useFields(t: Translate, within: Within): FilterField<FilterName>[] {
  const isOfAll = within.merchantId === undefined && within.storeId === undefined;
  const { merchantId } = useSession();
  const merchants = useNames('merchants', isOfAll && merchantId === undefined).data;
  const stores = useNames('stores', isOfAll).data;
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
  const named = (names: ReadonlyMap<string, string> | undefined) =>
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
            options: named(merchants),
          } as const,
        ]
      : []),
    ...(isOfAll
      ? [{ kind: 'choice', name: 'storeId', label: t('store'), options: named(stores) } as const]
      : []),
  ];
}

export function Fleet({
  merchantId,
  storeId,
}: {
  readonly merchantId?: string;
  readonly storeId?: string;
}) {
  const t = useTranslate('devices');
  const within: Within = { merchantId, storeId };
  const isOfAll = merchantId === undefined && storeId === undefined;
  const [values, change] = useFilters(filterNames);
  const { q, status, attention } = values;
  const owners = isOfAll ? pickOwners(values) : within;
  const live = useLive(owners);
  const changes = useEstateChanges();
  const fields = useFields(t, within);
  const { pathname } = useLocation();
  const isNarrowed = Object.keys(values).length > 0;
  return (
    <>
      {live.data !== undefined && live.data.counts.devices > 0 && (
        <CountTiles
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
          api.get<RowsPage<ConnectedDevice>>(addresses.presence, {
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

/** Of the filters those that say whose devices they are. */
function pickOwners({ merchantId, storeId }: Within): Owners {
  return defined({ merchantId, storeId });
}
