// Converts an endpoint to its API view, which contains the public key and no other keys.
import { defined, type WebhookEndpoint } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { EndpointRow, LaneFacts } from './endpoint-sql.ts';

const time = (name: string, at: Date | null) =>
  at === null ? {} : { [name]: isoTime(at.getTime()) };

const text = (name: string, value: string | null) => (value === null ? {} : { [name]: value });

function healthOf(facts: LaneFacts, now: number): NonNullable<WebhookEndpoint['health']> {
  const isResting = facts.resting_until.getTime() > now;
  return {
    failures: facts.failures,
    ...time('failingSince', facts.failing_since),
    ...time('restingUntil', isResting ? facts.resting_until : null),
    ...time('succeededAt', facts.succeeded_at),
  };
}

/** The writable members, and the read-only ones. */
export function endpointView(row: EndpointRow & Partial<LaneFacts>, now: number): WebhookEndpoint {
  const isOverlap = row.previous_until !== null && row.previous_until.getTime() > now;
  const { resting_until, failures, failing_since = null, succeeded_at = null } = row;
  const lane =
    resting_until === undefined || failures === undefined
      ? {}
      : { health: healthOf({ resting_until, failures, failing_since, succeeded_at }, now) };
  return {
    endpointId: row.endpoint_id,
    organizationId: row.organization_id,
    url: row.url,
    eventTypes: row.event_types,
    ...text('merchantId', row.merchant_id),
    owner: row.owner_merchant_id === null ? 'Organization' : 'Merchant',
    ...text('description', row.description),
    status: row.status,
    ...text('disabledReason', row.disabled_reason),
    ...time('disabledAt', row.disabled_at),
    ...(row.gap_after === null ? {} : { missedEvents: true }),
    ...time('verifiedAt', row.verified_at),
    publicKey: row.public_key,
    ...(isOverlap
      ? {
          ...text('previousPublicKey', row.previous_public_key),
          ...time('previousUntil', row.previous_until),
        }
      : {}),
    ...lane,
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

/** The entity of an audit record; it includes the merchant that owns the endpoint. */
export const auditedEntity = ({ endpoint_id, owner_merchant_id }: EndpointRow) => ({
  type: 'endpoint',
  id: endpoint_id,
  ...defined({ merchantId: owner_merchant_id ?? undefined }),
});

/** The view for the audit log, without the health, which is not a change by a user. */
export function auditedEndpoint(row: EndpointRow): object {
  const { health: _health, ...rest } = endpointView(row, 0);
  return rest;
}

/** Removes the query and the fragment of a URL, because they can contain secrets. */
export function shownUrl(url: string): string {
  return URL.canParse(url) ? url.replace(/[?#].*$/, '') : '';
}
