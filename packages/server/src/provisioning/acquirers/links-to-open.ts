// Reads the settings with which the acquiring module opens links, and the institutions of links.
import type { Database } from '../../platform/index.ts';
import { type Row, runOn } from '../resources/resource-sql.ts';
import { institutionOfLink, listLinksToOpen } from './acquirer-sql.ts';
import { httpSettings, isHttp } from './http-link-settings.ts';

type OpenedBy<Adapter extends string, Settings> = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: Adapter;
  /** Disabled or removed: the link accepts no sale, and stays open only to finish earlier ones. */
  isDraining: boolean;
  settings: {
    host: string;
    port: number;
    tls: boolean;
    clientCertificate?: string;
    institutionId: string;
  } & Settings;
};

type PinKey = { keyRef: string; format: 0 | 3 | 4; keyIndex?: string };

type HttpLinkToOpen = OpenedBy<
  'http-json',
  { path?: string; acquirerKeys: string[]; keyVersion: number; zonePinKey?: PinKey }
>;

type HostLinkToOpen = OpenedBy<
  'iso8583-host',
  {
    dialect: string;
    connections: number;
    tpdu?: string;
    zonePinKey?: PinKey;
    macKey?: { keyRef: string };
    zoneMasterKey?: { keyRef: string };
  }
>;

/** The settings with which the acquiring module opens a connection. */
export type LinkToOpen = HostLinkToOpen | HttpLinkToOpen;

const formats = { ISO0: 0, ISO3: 3, ISO4: 4 } as const;

type StoredKey = { keyRef: string };
type StoredPinKey = StoredKey & { format: keyof typeof formats; keyIndex?: string };

function pinKeyOf(row: Row): { zonePinKey?: PinKey } {
  const pin = row['zone_pin_key'] as StoredPinKey | null;
  return pin === null ? {} : { zonePinKey: { ...pin, format: formats[pin.format] } };
}

function keysOf(row: Row) {
  const mac = row['mac_key'] as StoredKey | null;
  const master = row['zone_master_key'] as StoredKey | null;
  return {
    ...pinKeyOf(row),
    ...(mac === null ? {} : { macKey: mac }),
    ...(master === null ? {} : { zoneMasterKey: master }),
  };
}

function toOpen(row: Row): LinkToOpen {
  const link = {
    organizationId: String(row['organization_id']),
    linkId: String(row['acquirer_link_id']),
    name: String(row['name']),
    isDraining: row['is_finishing'] === true,
  };
  const place = {
    host: String(row['host']),
    port: Number(row['port']),
    tls: row['tls'] === true,
    ...(row['client_certificate'] === null
      ? {}
      : { clientCertificate: String(row['client_certificate']) }),
    institutionId: String(row['institution_id']),
  };
  if (isHttp(row)) {
    const settings = { ...place, ...httpSettings(row), ...pinKeyOf(row) };
    return { ...link, adapter: 'http-json', settings };
  }
  const settings = {
    ...place,
    dialect: String(row['dialect']),
    connections: Number(row['connections']),
    ...(row['tpdu'] === null ? {} : { tpdu: String(row['tpdu']) }),
    ...keysOf(row),
  };
  return { ...link, adapter: 'iso8583-host', settings };
}

/** Reads the links of all organisations, which no API caller can do. */
export function createLinkDirectory(
  database: Database,
): (also?: readonly string[]) => Promise<LinkToOpen[]> {
  return async (also = []) => (await listLinksToOpen(runOn(database), also)).map(toOpen);
}

/** Reads the institution identifier of a link, even of a removed one. */
export function createInstitutionFinder(
  database: Database,
): (organizationId: string, linkId: string) => Promise<string | undefined> {
  return (organizationId, linkId) => institutionOfLink(runOn(database), organizationId, linkId);
}
