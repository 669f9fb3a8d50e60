// Plans the deliveries of new events, within the transaction that publishes them.
import { createHash } from 'node:crypto';
import { matchesEventType } from '@switchyard/contract';
import { type Clock, isoTime, type Queries } from '../../platform/index.ts';
import type { FeedEvent } from '../feed/feed-event.ts';
import {
  type EnabledEndpoint,
  type EndpointKey,
  findEnabledEndpoints,
  insertDeliveries,
  type NewDelivery,
} from './send-deliveries-sql.ts';

/**
 * A UUID version 7 with the time of the event. It is the same for the same event and endpoint, so
 * that no delivery is planned twice.
 */
export function deliveryIdOf(eventId: string, endpointId: string): string {
  const bytes = createHash('sha256').update(`${eventId} ${endpointId}`).digest().subarray(0, 16);
  bytes.write(eventId.replaceAll('-', '').slice(0, 12), 0, 'hex');
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function subscribesTo(
  { eventTypes, merchantId }: Pick<EnabledEndpoint, 'eventTypes' | 'merchantId'>,
  event: Pick<FeedEvent, 'type' | 'merchantId'>,
): boolean {
  if (merchantId !== null && merchantId !== event.merchantId) return false;
  return matchesEventType(eventTypes, event.type);
}

export type PlannedEvent = Pick<
  FeedEvent,
  'organizationId' | 'eventId' | 'type' | 'merchantId' | 'position' | 'traceparent'
>;

export function toNewDelivery(event: PlannedEvent, endpointId: string): NewDelivery {
  const { organizationId, eventId, type, position, traceparent = null } = event;
  const deliveryId = deliveryIdOf(eventId, endpointId);
  const ids = { organizationId, deliveryId, endpointId, eventId };
  return { ...ids, type, position, body: null, traceparent };
}

/** Plans the deliveries and returns the endpoints that get one. */
export function createDeliveryPlanner({ clock }: { readonly clock: Clock }) {
  return async (events: readonly FeedEvent[], trx: Queries): Promise<EndpointKey[]> => {
    const endpoints = Map.groupBy(
      await findEnabledEndpoints(trx, events),
      ({ organizationId }) => organizationId,
    );
    const endpointKeys = new Map<string, EndpointKey>();
    const rows = events.flatMap((event) =>
      (endpoints.get(event.organizationId) ?? [])
        .filter((endpoint) => subscribesTo(endpoint, event))
        .map(({ organizationId, endpointId }) => {
          endpointKeys.set(endpointId, { organizationId, endpointId });
          return toNewDelivery(event, endpointId);
        }),
    );
    if (rows.length > 0) await insertDeliveries(trx, rows, isoTime(clock.now()));
    return [...endpointKeys.values()];
  };
}
