// Holds the state of one leased endpoint: its queue, its running calls and its failures.
import { nilUuid } from '../../platform/index.ts';
import type { SigningKeys } from '../endpoints/endpoint-keys.ts';
import { type AttemptResponse, findPauseMs, nextWindow, toOutcome } from './retry-schedule.ts';
import type {
  DeliveryPosition,
  DueDelivery,
  EndpointHealthUpdate,
  EndpointKey,
} from './send-deliveries-sql.ts';

/** The maximum number of running calls to one endpoint. */
export const endpointCallsMax = 32;
const initialWindow = 8;
const queueMax = 128;
/** How often a read starts at the oldest delivery, to find those that were committed late. */
const fullReadIntervalMs = 1_000;
const startPosition: DeliveryPosition = {
  dueAt: '1970-01-01T00:00:00.000Z',
  deliveryId: nilUuid,
};

export type EndpointQueue = {
  readonly key: EndpointKey;
  url: string;
  version: number;
  signing: SigningKeys;
  waiting: DueDelivery[];
  /** Queued deliveries, running ones, and sent ones that are not stored yet. */
  readonly inFlight: Map<string, DueDelivery>;
  /** Deliveries in flight that were made due again, for example by a resend. */
  readonly resent: Set<string>;
  running: number;
  /** The maximum number of running calls; it is low while the endpoint fails. */
  window: number;
  failures: number;
  failingSince: number | undefined;
  succeededAt: number | undefined;
  pausedUntil: number;
  /** Whether the database may have more deliveries than are in flight. */
  hasMore: boolean;
  /** Whether a read from the oldest delivery found nothing more; the lease is kept until then. */
  isFullyRead: boolean;
  readAfter: DeliveryPosition;
  fullReadAt: number;
  idleSince: number | undefined;
  /** Another process has the lease, or the endpoint gets no more deliveries. */
  isAbandoned: boolean;
};

export function createEndpointQueue(
  endpoint: {
    readonly key: EndpointKey;
    readonly url: string;
    readonly version: number;
    readonly failures: number;
    readonly failingSince?: number | undefined;
  },
  signing: SigningKeys,
): EndpointQueue {
  const { key, url, version, failures } = endpoint;
  return {
    key,
    url,
    version,
    signing,
    failures,
    waiting: [],
    running: 0,
    inFlight: new Map(),
    resent: new Set(),
    window: failures === 0 ? initialWindow : 1,
    failingSince: endpoint.failingSince,
    succeededAt: undefined,
    pausedUntil: 0,
    hasMore: true,
    isFullyRead: false,
    readAfter: startPosition,
    fullReadAt: 0,
    idleSince: undefined,
    isAbandoned: false,
  };
}

/** The next read for the endpoint, if its queue has space. */
export function nextRead(queue: EndpointQueue, now: number) {
  const freeSlots = queueMax - queue.waiting.length;
  const isFromStart = now - queue.fullReadAt >= fullReadIntervalMs;
  // Before the lease is released, one more read finds deliveries that were committed late.
  const isFinalRead = isFromStart && !queue.isFullyRead && queue.waiting.length === 0;
  const needsRead = (queue.hasMore || isFinalRead) && queue.waiting.length <= queue.window;
  if (!needsRead || queue.isAbandoned || queue.pausedUntil > now) return undefined;
  if (isFromStart) {
    queue.readAfter = startPosition;
    queue.fullReadAt = now;
  }
  // Deliveries in flight are still due in the database, so the limit allows for them.
  const limit = Math.min(freeSlots, queue.window * 2) + (isFromStart ? queue.inFlight.size : 0);
  return { ...queue.key, limit, after: queue.readAfter, isFromStart };
}

/** @param storedSinceRead deliveries that were stored during the read, and that its result may contain */
export function addDeliveries(
  queue: EndpointQueue,
  deliveries: readonly DueDelivery[],
  { limit, isFromStart }: { readonly limit: number; readonly isFromStart: boolean },
  storedSinceRead: ReadonlySet<string>,
): void {
  queue.hasMore = deliveries.length >= limit;
  queue.isFullyRead = isFromStart && !queue.hasMore;
  for (const delivery of deliveries) {
    const { deliveryId, dueAt } = delivery;
    const inFlight = queue.inFlight.get(deliveryId);
    if (inFlight !== undefined && inFlight.dueAt.getTime() !== dueAt.getTime()) {
      queue.resent.add(deliveryId);
    }
    if (inFlight !== undefined || storedSinceRead.has(deliveryId)) continue;
    queue.inFlight.set(deliveryId, delivery);
    queue.waiting.push(delivery);
  }
  const last = deliveries.at(-1);
  if (last === undefined) return;
  queue.readAfter = { dueAt: last.dueAt.toISOString(), deliveryId: last.deliveryId };
}

/**
 * The result is stored. If the delivery was made due again, the next read starts at the oldest one.
 */
export function removeDelivery(queue: EndpointQueue, deliveryId: string): void {
  queue.inFlight.delete(deliveryId);
  if (!queue.resent.delete(deliveryId)) return;
  queue.hasMore = true;
  queue.isFullyRead = false;
  queue.fullReadAt = 0;
}

/**
 * Updates the endpoint's health after an attempt.
 *
 * @param now by the process clock, and by the clock of due times
 */
export function recordResponse(
  queue: EndpointQueue,
  response: AttemptResponse,
  now: { readonly at: number; readonly due: number },
  pausesMs?: readonly number[],
): void {
  const isDelivered = toOutcome(response) === 'Delivered';
  queue.window = nextWindow(queue.window, isDelivered, endpointCallsMax);
  if (isDelivered) {
    queue.failures = 0;
    queue.failingSince = undefined;
    queue.succeededAt = now.at;
    return;
  }
  queue.failures += 1;
  queue.failingSince ??= now.at;
  const pauseMs = findPauseMs(queue.failures, response, pausesMs);
  if (pauseMs > 0) queue.pausedUntil = Math.max(queue.pausedUntil, now.due + pauseMs);
}

export function isIdle(queue: EndpointQueue, now: number): boolean {
  if (queue.running > 0) return false;
  if (queue.isAbandoned || queue.pausedUntil > now) return true;
  return (
    queue.waiting.length === 0 && queue.inFlight.size === 0 && !queue.hasMore && queue.isFullyRead
  );
}

export function toHealthUpdate(
  queue: EndpointQueue,
  text: (ms: number) => string,
): EndpointHealthUpdate {
  const optional = (ms: number | undefined) => (ms === undefined ? null : text(ms));
  return {
    ...queue.key,
    pausedUntil: text(queue.pausedUntil),
    failures: queue.failures,
    failingSince: optional(queue.failingSince),
    succeededAt: optional(queue.succeededAt),
  };
}
