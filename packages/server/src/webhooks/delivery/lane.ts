// What a process knows of an endpoint that it sends to: what waits, what is under way, how it fares.
import type { SigningKeys } from '../endpoints/keys.ts';
import { nextWindow, restAfterMs, type Tried, verdictOf } from './schedule.ts';
import type { DueDelivery, LaneEnd, LaneKey, Place } from './store.ts';

/** Calls under way to one endpoint at a time. */
export const laneCallsMax = 32;
const windowAtFirst = 8;
const queueMax = 128;
/** How often a look begins at the oldest again: what was committed late is found then. */
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
  /** Waiting here, under way, or sent and not written down yet. */
  readonly inHand: Map<string, DueDelivery>;
  /** Of these, those that somebody has sent anew meanwhile. */
  readonly again: Set<string>;
  running: number;
  /** How many may run: few while it fails. */
  window: number;
  failures: number;
  failingSince: number | undefined;
  succeededAt: number | undefined;
  restingUntil: number;
  /** Whether the database may have more than is in hand. */
  hasMore: boolean;
  /** Whether a look from the oldest on is to come before it is let go. */
  isChecked: boolean;
  after: Place;
  fromStartAt: number;
  idleSince: number | undefined;
  /** Somebody else has it, or nothing is to be sent any more. */
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

/** What to read for it now, where there is room. */
export function wishOf(lane: Lane, now: number) {
  const room = queueMax - lane.queue.length;
  const isFromStart = now - lane.fromStartAt >= fromStartMs;
  // Before it is let go, what was committed late is looked for.
  const isLastLook = isFromStart && !lane.isChecked && lane.queue.length === 0;
  const isWanting = (lane.hasMore || isLastLook) && lane.queue.length <= lane.window;
  if (!isWanting || lane.isLost || lane.restingUntil > now) return undefined;
  if (isFromStart) {
    lane.after = start;
    lane.fromStartAt = now;
  }
  // What is in hand stands in the database still, and is passed over.
  const limit = Math.min(room, lane.window * 2) + (isFromStart ? lane.inHand.size : 0);
  return { ...lane.key, limit, after: lane.after, isFromStart };
}

/** @param ended what was written down while the look was under way, and may stand in it still */
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

/** It is written down; what is to be sent anew is looked for at once, and from the oldest on. */
export function letOff(lane: Lane, deliveryId: string): void {
  lane.inHand.delete(deliveryId);
  if (!lane.again.delete(deliveryId)) return;
  lane.hasMore = true;
  lane.isChecked = false;
  lane.fromStartAt = 0;
}

/** How it fares after a try. */
/** @param now by the process clock, and by that of due times */
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
