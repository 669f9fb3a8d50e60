/** The device counts by status; each count links to its devices. */
import type { DeviceCounts } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { useLiveConnections } from './use-live-connections.ts';
import '../estate/estate.css';

type Search = Readonly<Record<string, string>>;

type Tile = {
  readonly word: string;
  readonly count: number;
  readonly search: Search;
  readonly tone?: 'good' | 'warn' | 'bad';
};

/** A count of zero has no warning colour. */
function tilesOf(counts: DeviceCounts): Tile[] {
  const warn = (count: number) => (count > 0 ? ({ tone: 'warn' } as const) : {});
  const { devices, online, neverConnected, inStock, disabled, certificateEnding } = counts;
  return [
    { word: 'devices', count: devices, search: {} },
    {
      word: 'online',
      count: online,
      search: { status: 'Online' },
      ...(online > 0 ? ({ tone: 'good' } as const) : {}),
    },
    { word: 'offline', count: devices - online, search: { status: 'Offline' } },
    { word: 'neverConnected', count: neverConnected, search: { attention: 'NeverConnected' } },
    { word: 'inStock', count: inStock, search: { attention: 'InStock' } },
    { word: 'disabled', count: disabled, search: { attention: 'Disabled' } },
    {
      word: 'certificateEnding',
      count: certificateEnding,
      search: { attention: 'CertificateEnding' },
      ...warn(certificateEnding),
    },
  ];
}

export function DeviceCountTiles({
  counts,
  to,
  search,
  current,
}: {
  readonly counts: DeviceCounts;
  readonly to: string;
  /** Search parameters that the links keep. */
  readonly search: Search;
  /** The current filters of the list. */
  readonly current?: { readonly status?: string; readonly attention?: string };
}) {
  const t = useTranslate('devices');
  const formats = useFormats();
  const isCurrent = ({ search: own }: Tile) =>
    current !== undefined &&
    current.status === own['status'] &&
    current.attention === own['attention'];
  return (
    <ul className="sy-tiles sy-fleet-tiles" aria-label={t('counts.title')}>
      {tilesOf(counts).map((tile) => (
        <li key={tile.word}>
          <Link
            className="sy-tile"
            to={to}
            search={{ ...search, ...tile.search } as never}
            data-tone={tile.tone}
            aria-current={isCurrent(tile) ? 'true' : undefined}
          >
            <span>{t(`counts.${tile.word}`)}</span>
            <strong>{formats.number(tile.count)}</strong>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** The counts on the page of a merchant or store; hidden if it has no device. */
export function DeviceCountsPanel({
  merchantId,
  storeId,
  to,
  search,
}: {
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly to: string;
  readonly search: Search;
}) {
  const { data } = useLiveConnections({ merchantId, storeId });
  if (data === undefined || data.counts.devices === 0) return null;
  return <DeviceCountTiles counts={data.counts} to={to} search={search} />;
}
