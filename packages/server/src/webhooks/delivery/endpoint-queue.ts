// Holds the state of one leased endpoint: its queue, its running calls and its failures.
import type { SigningKeys } from '../endpoints/endpoint-keys.ts';
import { nextWindow, restAfterMs, type Tried, verdictOf } from './retry-schedule.ts';
import type { DueDelivery, LaneEnd, LaneKey, Place } from './send-deliveries-sql.ts';

/** The maximum number of running calls to one endpoint. */
export const laneCallsMax = 32;
const windowAtFirst = 8;
const queueMax = 128;
/** How often a read starts at the oldest delivery, to find those that were committed late. */
const fromStartMs = 1_000;
const start: Place = {
  dueAt: '1970-01-01T00:00:00.000Z',
  deliveryId: '00000000-0000-0000-0000-000000000000',
};

export type Lane = {
  readonly key: LaneKey;
  url: string;
  version: number;
  signing: SigningKeys;
  queue: DueDelivery[];
  /** Queued deliveries, running ones, and sent ones that are not stored yet. */
  readonly inHand: Map<string, DueDelivery>;
  /** Deliveries in hand that were made due again, for example by a resend. */
  readonly again: Set<string>;
  running: number;
  /** The maximum number of running calls; it is low while the endpoint fails. */
  window: number;
  failures: number;
  failingSince: number | undefined;
  succeededAt: number | undefined;
  restingUntil: number;
  /** Whether the database may have more deliveries than are in hand. */
  hasMore: boolean;
  /** Whether a read from the oldest delivery found nothing more; the lease is kept until then. */
  isChecked: boolean;
  after: Place;
  fromStartAt: number;
  idleSince: number | undefined;
  /** Another process has the lease, or the endpoint gets no more deliveries. */
  isLost: boolean;
};

export function createLane(
  found: {
    readonly key: LaneKey;
    readonly url: string;
    readonly version: number;
    readonly failures: number;
    readonly failingSince: Date | null;
  },
  signing: SigningKeys,
): Lane {
  const { key, url, version, failures } = found;
  return {
    key,
    url,
    version,
    signing,
    failures,
    queue: [],
    running: 0,
    inHand: new Map(),
    again: new Set(),
    window: failures === 0 ? windowAtFirst : 1,
    failingSince: found.failingSince?.getTime(),
    succeededAt: undefined,
    restingUntil: 0,
    hasMore: true,
    isChecked: false,
    after: start,
    fromStartAt: 0,
    idleSince: undefined,
    isLost: false,
  };
}

/** The next read for the endpoint, if its queue has space. */
export function wishOf(lane: Lane, now: number) {
  const room = queueMax - lane.queue.length;
  const isFromStart = now - lane.fromStartAt >= fromStartMs;
  // Before the lease is released, one more read finds deliveries that were committed late.
  const isLastLook = isFromStart && !lane.isChecked && lane.queue.length === 0;
  const isWanting = (lane.hasMore || isLastLook) && lane.queue.length <= lane.window;
  if (!isWanting || lane.isLost || lane.restingUntil > now) return undefined;
  if (isFromStart) {
    lane.after = start;
    lane.fromStartAt = now;
  }
  // Deliveries in hand are still due in the database, so the limit allows for them.
  const limit = Math.min(room, lane.window * 2) + (isFromStart ? lane.inHand.size : 0);
  return { ...lane.key, limit, after: lane.after, isFromStart };
}

/** @param ended deliveries that were stored during the read, and that its result may contain */
export function takeIn(
  lane: Lane,
  found: readonly DueDelivery[],
  { limit, isFromStart }: { readonly limit: number; readonly isFromStart: boolean },
  ended: ReadonlySet<string>,
): void {
  lane.hasMore = found.length >= limit;
  lane.isChecked = isFromStart && !lane.hasMore;
  for (const delivery of found) {
    const { deliveryId, dueAt } = delivery;
    const taken = lane.inHand.get(deliveryId);
    if (taken !== undefined && taken.dueAt.getTime() !== dueAt.getTime()) {
      lane.again.add(deliveryId);
    }
    if (taken !== undefined || ended.has(deliveryId)) continue;
    lane.inHand.set(deliveryId, delivery);
    lane.queue.push(delivery);
  }
  const last = found.at(-1);
  if (last === undefined) return;
  lane.after = { dueAt: last.dueAt.toISOString(), deliveryId: last.deliveryId };
}

/**
 * The result is stored. If the delivery was made due again, the next read starts at the oldest one.
 */
export function letOff(lane: Lane, deliveryId: string): void {
  lane.inHand.delete(deliveryId);
  if (!lane.again.delete(deliveryId)) return;
  lane.hasMore = true;
  lane.isChecked = false;
  lane.fromStartAt = 0;
}

/**
 * Updates the endpoint's health after an attempt.
 *
 * @param now by the process clock, and by the clock of due times
 */
export function learn(
  lane: Lane,
  tried: Tried,
  now: { readonly at: number; readonly due: number },
  restsMs?: readonly number[],
): void {
  const isDelivered = verdictOf(tried) === 'Delivered';
  lane.window = nextWindow(lane.window, isDelivered, laneCallsMax);
  if (isDelivered) {
    lane.failures = 0;
    lane.failingSince = undefined;
    lane.succeededAt = now.at;
    return;
  }
  lane.failures += 1;
  lane.failingSince ??= now.at;
  const restMs = restAfterMs(lane.failures, tried, restsMs);
  if (restMs > 0) lane.restingUntil = Math.max(lane.restingUntil, now.due + restMs);
}

export function isIdle(lane: Lane, now: number): boolean {
  if (lane.running > 0) return false;
  if (lane.isLost || lane.restingUntil > now) return true;
  return lane.queue.length === 0 && lane.inHand.size === 0 && !lane.hasMore && lane.isChecked;
}

export function endOf(lane: Lane, text: (ms: number) => string): LaneEnd {
  const optional = (ms: number | undefined) => (ms === undefined ? null : text(ms));
  return {
    ...lane.key,
    restingUntil: text(lane.restingUntil),
    failures: lane.failures,
    failingSince: optional(lane.failingSince),
    succeededAt: optional(lane.succeededAt),
  };
}
