// How an endpoint is shown: without its keys, but for the public one.
import { defined, type WebhookEndpoint } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { EndpointRow, LaneFacts } from './store.ts';

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

/** What can be changed, and what stands beside it. */
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

/** What a record of the audit is about: the endpoints of a merchant are found with the merchant. */
export const auditedEntity = ({ endpoint_id, owner_merchant_id }: EndpointRow) => ({
  type: 'endpoint',
  id: endpoint_id,
  ...defined({ merchantId: owner_merchant_id ?? undefined }),
});

/** For the audit: how it fares is no change that anybody made. */
export function auditedEndpoint(row: EndpointRow): object {
  const { health: _health, ...rest } = endpointView(row, 0);
  return rest;
}

/** Where an address can hold what is not for everybody, it is not told. */
export function shownUrl(url: string): string {
  return URL.canParse(url) ? url.replace(/[?#].*$/, '') : '';
}
