// The HTTP members of an acquirer link: the path, the acquirer's keys and the platform's keys.
import type { PublicSigningKey } from '../../platform/index.ts';
import { refuseField } from '../resources/provisioning-errors.ts';
import type { Input } from '../resources/resource-definition.ts';
import type { Row } from '../resources/resource-sql.ts';

/** The public keys of the platform for a link: the current one and the next one. */
export type LinkSigningKeys = (link: {
  organizationId: string;
  linkId: string;
  keyVersion: number;
}) => { current: PublicSigningKey; next: PublicSigningKey };

/** Stored as the client sent it, so that sending the same file again changes nothing. */
type HttpJson = { path?: string; acquirerKeys: string[]; keyVersion?: number };

const firstKey = 1;

const hostMembers = ['dialect', 'connections', 'tpdu', 'macKey', 'zoneMasterKey'] as const;

export const isHttp = (of: Input | Row): boolean => of['adapter'] === 'HttpJson';

/** The column with the HTTP members of an HttpJson link; null for every other link. */
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

/** The HTTP members of the API response. */
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

/** The HTTP settings of the adapter, without the address of the acquirer. */
export function httpSettings(row: Row): HttpJson & { keyVersion: number } {
  const httpJson = row['http_json'] as HttpJson;
  return { ...httpJson, keyVersion: httpJson.keyVersion ?? firstKey };
}
