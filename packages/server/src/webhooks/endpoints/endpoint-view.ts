// Converts an endpoint to its API view, which contains the public key and no other keys.
import { defined, type WebhookEndpoint } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { EndpointHealth, EndpointRecord } from './endpoint-sql.ts';

const toTime = (at: number | undefined) => (at === undefined ? undefined : isoTime(at));

function toHealthView(
  { failures, failingSince, restingUntil, succeededAt }: EndpointHealth,
  now: number,
): NonNullable<WebhookEndpoint['health']> {
  return {
    failures,
    ...defined({
      failingSince: toTime(failingSince),
      restingUntil: toTime(restingUntil > now ? restingUntil : undefined),
      succeededAt: toTime(succeededAt),
    }),
  };
}

/** The writable members, and the read-only ones. Only an endpoint with its queue has a health. */
export function toEndpointView(
  endpoint: EndpointRecord & Partial<EndpointHealth>,
  now: number,
): WebhookEndpoint {
  const { endpointId, organizationId, url, eventTypes, merchantId, description } = endpoint;
  const { status, disabledReason, publicKey, previousUntil } = endpoint;
  const isOverlap = previousUntil !== undefined && previousUntil > now;
  return {
    endpointId,
    organizationId,
    url,
    eventTypes,
    owner: endpoint.ownerMerchantId === undefined ? 'Organization' : 'Merchant',
    status,
    publicKey,
    ...defined({
      merchantId,
      description,
      disabledReason,
      disabledAt: toTime(endpoint.disabledAt),
      missedEvents: endpoint.gapAfter === undefined ? undefined : true,
      verifiedAt: toTime(endpoint.verifiedAt),
      previousPublicKey: isOverlap ? endpoint.previousPublicKey : undefined,
      previousUntil: isOverlap ? isoTime(previousUntil) : undefined,
      health: hasHealth(endpoint) ? toHealthView(endpoint, now) : undefined,
    }),
    createdAt: isoTime(endpoint.createdAt),
    updatedAt: isoTime(endpoint.updatedAt),
  };
}

const hasHealth = (
  endpoint: EndpointRecord & Partial<EndpointHealth>,
): endpoint is EndpointRecord & EndpointHealth => endpoint.restingUntil !== undefined;

/** The entity of an audit record; it includes the merchant that owns the endpoint. */
export const auditEntityOf = ({ endpointId, ownerMerchantId }: EndpointRecord) => ({
  type: 'endpoint',
  id: endpointId,
  ...defined({ merchantId: ownerMerchantId }),
});

/** The view for the audit log, without the health, which is not a change by a user. */
export function toAuditView(endpoint: EndpointRecord): object {
  const { health: _health, ...rest } = toEndpointView(endpoint, 0);
  return rest;
}

/** Removes the query and the fragment of a URL, because they can contain secrets. */
export function stripUrlQuery(url: string): string {
  return URL.canParse(url) ? url.replace(/[?#].*$/, '') : '';
}
