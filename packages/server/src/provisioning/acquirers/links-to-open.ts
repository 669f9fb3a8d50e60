// Reads the settings with which the acquiring module opens links, and the institutions of links.
import type { Database } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';
import { selectInstitutionId, selectLinksByNameOrId, selectLinksToOpen } from './acquirer-sql.ts';
import { isHttpLink, readHttpSettings } from './http-link-settings.ts';

type AdapterLink<Adapter extends string, Settings> = {
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

type HttpLinkToOpen = AdapterLink<
  'http-json',
  { path?: string; acquirerKeys: string[]; keyVersion: number; zonePinKey?: PinKey }
>;

type HostLinkToOpen = AdapterLink<
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

const pinBlockFormats = { ISO0: 0, ISO3: 3, ISO4: 4 } as const;

type StoredKey = { keyRef: string };
type StoredPinKey = StoredKey & { format: keyof typeof pinBlockFormats; keyIndex?: string };

function readPinKey(row: Row): { zonePinKey?: PinKey } {
  const pin = row['zone_pin_key'] as StoredPinKey | null;
  return pin === null ? {} : { zonePinKey: { ...pin, format: pinBlockFormats[pin.format] } };
}

function readKeys(row: Row) {
  const mac = row['mac_key'] as StoredKey | null;
  const master = row['zone_master_key'] as StoredKey | null;
  return {
    ...readPinKey(row),
    ...(mac === null ? {} : { macKey: mac }),
    ...(master === null ? {} : { zoneMasterKey: master }),
  };
}

function toLinkToOpen(row: Row): LinkToOpen {
  const link = {
    organizationId: String(row['organization_id']),
    linkId: String(row['acquirer_link_id']),
    name: String(row['name']),
    isDraining: row['is_finishing'] === true,
  };
  const connection = {
    host: String(row['host']),
    port: Number(row['port']),
    tls: row['tls'] === true,
    ...(row['client_certificate'] === null
      ? {}
      : { clientCertificate: String(row['client_certificate']) }),
    institutionId: String(row['institution_id']),
  };
  if (isHttpLink(row)) {
    const settings = { ...connection, ...readHttpSettings(row), ...readPinKey(row) };
    return { ...link, adapter: 'http-json', settings };
  }
  const settings = {
    ...connection,
    dialect: String(row['dialect']),
    connections: Number(row['connections']),
    ...(row['tpdu'] === null ? {} : { tpdu: String(row['tpdu']) }),
    ...readKeys(row),
  };
  return { ...link, adapter: 'iso8583-host', settings };
}

/** Reads the links of all organisations, which no API caller can do. */
export function createListLinksToOpen(
  database: Database,
): (also?: readonly string[]) => Promise<LinkToOpen[]> {
  return async (also = []) => (await selectLinksToOpen(database, also)).map(toLinkToOpen);
}

/** Finds approved links by id or name, enabled or not; the names of two organisations can be equal. */
export const findAcquirerLinks = async (
  database: Database,
  nameOrId: string,
): Promise<LinkToOpen[]> => (await selectLinksByNameOrId(database, nameOrId)).map(toLinkToOpen);

/** Reads the institution identifier of a link, even of a removed one. */
export function createFindInstitutionId(
  database: Database,
): (organizationId: string, linkId: string) => Promise<string | undefined> {
  return (organizationId, linkId) => selectInstitutionId(database, organizationId, linkId);
}
