// The HTTP members of an acquirer link: the path, the acquirer's keys and the platform's keys.
import type { PublicSigningKey } from '../../platform/index.ts';
import { throwFieldProblem } from '../resources/provisioning-errors.ts';
import type { ResourceInput } from '../resources/resource-definition.ts';
import type { Row } from '../resources/resource-sql.ts';

/** The public keys of the platform for a link: the current one and the next one. */
export type LinkSigningKeys = (link: {
  organizationId: string;
  linkId: string;
  keyVersion: number;
}) => { current: PublicSigningKey; next: PublicSigningKey };

/** Stored as the client sent it, so that sending the same file again changes nothing. */
type HttpJson = { path?: string; acquirerKeys: string[]; keyVersion?: number };

const firstKeyVersion = 1;

const hostOnlyMembers = ['dialect', 'connections', 'tpdu', 'macKey', 'zoneMasterKey'] as const;

export const isHttpLink = (link: ResourceInput | Row): boolean => link['adapter'] === 'HttpJson';

/** The column with the HTTP members of an HttpJson link; null for every other link. */
export function toHttpColumn(input: ResourceInput): HttpJson | null {
  const httpJson = input['httpJson'] as HttpJson | undefined;
  if (!isHttpLink(input)) {
    if (httpJson !== undefined)
      throwFieldProblem('/httpJson', 'is allowed only with the adapter HttpJson');
    return null;
  }
  if (httpJson === undefined)
    return throwFieldProblem('/httpJson', 'is required', 'field_required');
  const hostMember = hostOnlyMembers.find((name) => input[name] !== undefined);
  if (hostMember !== undefined)
    throwFieldProblem(`/${hostMember}`, 'is allowed only with the adapter Iso8583Host');
  return httpJson;
}

/** The HTTP members of the API response. */
export function httpViewMembers(row: Row, signingKeys: LinkSigningKeys | undefined) {
  const httpJson = row['http_json'] as HttpJson;
  const link = {
    organizationId: String(row['organization_id']),
    linkId: String(row['acquirer_link_id']),
    keyVersion: httpJson.keyVersion ?? firstKeyVersion,
  };
  return {
    zonePinKey: row['zone_pin_key'],
    httpJson,
    signingKeys: signingKeys?.(link),
  };
}

/** The HTTP settings of the adapter, without the address of the acquirer. */
export function readHttpSettings(row: Row): HttpJson & { keyVersion: number } {
  const httpJson = row['http_json'] as HttpJson;
  return { ...httpJson, keyVersion: httpJson.keyVersion ?? firstKeyVersion };
}
