// Converts an endpoint to its API view, which contains the public key and no other keys.
import { defined, type WebhookEndpoint } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { EndpointHealth, EndpointRow } from './endpoint-sql.ts';

const timeMember = (name: string, at: Date | null) =>
  at === null ? {} : { [name]: isoTime(at.getTime()) };

const textMember = (name: string, value: string | null) =>
  value === null ? {} : { [name]: value };

function toHealthView(facts: EndpointHealth, now: number): NonNullable<WebhookEndpoint['health']> {
  const isResting = facts.resting_until.getTime() > now;
  return {
    failures: facts.failures,
    ...timeMember('failingSince', facts.failing_since),
    ...timeMember('restingUntil', isResting ? facts.resting_until : null),
    ...timeMember('succeededAt', facts.succeeded_at),
  };
}

/** The writable members, and the read-only ones. */
export function toEndpointView(
  row: EndpointRow & Partial<EndpointHealth>,
  now: number,
): WebhookEndpoint {
  const isOverlap = row.previous_until !== null && row.previous_until.getTime() > now;
  const { resting_until, failures, failing_since = null, succeeded_at = null } = row;
  const health =
    resting_until === undefined || failures === undefined
      ? {}
      : { health: toHealthView({ resting_until, failures, failing_since, succeeded_at }, now) };
  return {
    endpointId: row.endpoint_id,
    organizationId: row.organization_id,
    url: row.url,
    eventTypes: row.event_types,
    ...textMember('merchantId', row.merchant_id),
    owner: row.owner_merchant_id === null ? 'Organization' : 'Merchant',
    ...textMember('description', row.description),
    status: row.status,
    ...textMember('disabledReason', row.disabled_reason),
    ...timeMember('disabledAt', row.disabled_at),
    ...(row.gap_after === null ? {} : { missedEvents: true }),
    ...timeMember('verifiedAt', row.verified_at),
    publicKey: row.public_key,
    ...(isOverlap
      ? {
          ...textMember('previousPublicKey', row.previous_public_key),
          ...timeMember('previousUntil', row.previous_until),
        }
      : {}),
    ...health,
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

/** The entity of an audit record; it includes the merchant that owns the endpoint. */
export const auditEntityOf = ({ endpoint_id, owner_merchant_id }: EndpointRow) => ({
  type: 'endpoint',
  id: endpoint_id,
  ...defined({ merchantId: owner_merchant_id ?? undefined }),
});

/** The view for the audit log, without the health, which is not a change by a user. */
export function toAuditView(row: EndpointRow): object {
  const { health: _health, ...rest } = toEndpointView(row, 0);
  return rest;
}

/** Removes the query and the fragment of a URL, because they can contain secrets. */
export function stripUrlQuery(url: string): string {
  return URL.canParse(url) ? url.replace(/[?#].*$/, '') : '';
}
