// What an acquirer link has that speaks HTTP: its path, the acquirer's keys, and those of the platform.
import type { PublicSigningKey } from '../platform/index.ts';
import { refuseField } from './errors.ts';
import type { Input } from './resource-kind.ts';
import type { Row } from './store.ts';

/** The platform's public keys of a link: the one in use, and the one after it. */
export type LinkSigningKeys = (link: {
  organizationId: string;
  linkId: string;
  keyVersion: number;
}) => { current: PublicSigningKey; next: PublicSigningKey };

/** As it was given: what is left out stays so, and a file that is applied again changes nothing. */
type HttpJson = { path?: string; acquirerKeys: string[]; keyVersion?: number };

const firstKey = 1;

const hostMembers = ['dialect', 'connections', 'tpdu', 'macKey', 'zoneMasterKey'] as const;

export const isHttp = (of: Input | Row): boolean => of['adapter'] === 'HttpJson';

/** The column of what an HttpJson link has beside others; null for every other link. */
export function httpColumn(input: Input): HttpJson | null {
  const given = input['httpJson'] as HttpJson | undefined;
  if (!isHttp(input)) {
    if (given !== undefined) refuseField('/httpJson', 'goes with the adapter HttpJson');
    return null;
  }
  if (given === undefined) return refuseField('/httpJson', 'is needed', 'field_required');
  const strange = hostMembers.find((name) => input[name] !== undefined);
  if (strange !== undefined) refuseField(`/${strange}`, 'goes with the adapter Iso8583Host');
  return given;
}

/** What clients see of it, beside what every link has. */
export function httpMembers(row: Row, signingKeys: LinkSigningKeys | undefined) {
  const httpJson = row['http_json'] as HttpJson;
  const link = {
    organizationId: String(row['organization_id']),
    linkId: String(row['acquirer_link_id']),
    keyVersion: httpJson.keyVersion ?? firstKey,
  };
  return {
    zonePinKey: row['zone_pin_key'],
    httpJson,
    signingKeys: signingKeys?.(link),
  };
}

/** What the adapter is set up with, beside where the acquirer is. */
export function httpSettings(row: Row): HttpJson & { keyVersion: number } {
  const httpJson = row['http_json'] as HttpJson;
  return { ...httpJson, keyVersion: httpJson.keyVersion ?? firstKey };
}
