// Sends due deliveries in parallel under one lease per endpoint (ADR 0043).
import {
  createGroupCommit,
  createPoller,
  type Database,
  type FailPoints,
  type Ids,
  isoTime,
  type Log,
  type Metrics,
  pause,
} from '../../platform/index.ts';
import type { EndpointKeys } from '../endpoints/endpoint-keys.ts';
import { type AttemptDeps, attempt } from './delivery-attempt.ts';
import { createMeasurements } from './delivery-metrics.ts';
import {
  createLane,
  endOf,
  isIdle,
  type Lane,
  learn,
  letOff,
  takeIn,
  wishOf,
} from './endpoint-queue.ts';
import {
  defaultRestsMs,
  disabledAfterMs,
  retryDelaysMs,
  type Tried,
  verdictOf,
} from './retry-schedule.ts';
import {
  type DueDelivery,
  endRest,
  findWaitingLanes,
  type LaneKey,
  leaseLanes,
  type Mark,
  markDeliveries,
  readDue,
  renewLanes,
  tellLanes,
} from './send-deliveries-sql.ts';

/** The maximum number of running calls: of this process, and of one organisation. */
const callsMax = 1_024;
const organizationCallsMax = 256;
/** Each endpoint may have this many calls, even if the total limits are reached. */
const ownPlaces = 2;
const lanesMax = 1_000;
/** How long the process keeps the lease of an idle endpoint, in case more deliveries follow. */
const lingerMs = 300;
/** How long this process retries to lease an endpoint that another process holds. */
const wishMs = 2_000;
const stopGraceMs = 5_000;
const stopLookMs = 20;
const renewalsPerLease = 3;

export type DispatcherTimes = {
  readonly pollMs: number;
  /** The interval of the search for due endpoints that no process has leased. */
  readonly sweepMs: number;
  readonly leaseMs: number;
  /** The pauses of an endpoint that keeps failing, from the first to the longest. */
  readonly restsMs: readonly number[];
};

const defaultTimes: DispatcherTimes = {
  pollMs: 200,
  sweepMs: 2_000,
  leaseMs: 15_000,
  restsMs: defaultRestsMs,
};

export type DisabledCause = 'Gone' | 'Unreachable';

export type DispatcherDeps = AttemptDeps & {
  readonly database: Database;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly keys: EndpointKeys;
  readonly failPoints: FailPoints;
  readonly times?: Partial<DispatcherTimes>;
  /** Disables the endpoint, unless its URL has changed. Returns whether it did so. */
  disable(key: LaneKey & { readonly url: string }, cause: DisabledCause): Promise<boolean>;
};

export type Dispatcher = {
  start(): void;
  stop(): Promise<void>;
  /** New deliveries were planned for these endpoints. */
  wake(keys: readonly LaneKey[]): void;
  /** Ends a pause of the endpoint, because a client waits for a delivery. */
  hurry(key: LaneKey): Promise<void>;
  /** The endpoint was changed. */
  changed(key: LaneKey): void;
};

/** @example const dispatcher = createDispatcher(deps); dispatcher.start(); dispatcher.wake(keys); */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { database, clock, dueClock, ids, log, keys, failPoints } = deps;
  const times = { ...defaultTimes, ...deps.times };
  const token = ids.uuid();
  const lanes = new Map<string, Lane>();
  const wanted = new Map<string, { key: LaneKey; until: number }>();
  const callsOf = new Map<string, number>();
  /** Deliveries that were stored since the last database read began. */
  const ended = new Set<string>();
  let isStopping = false;
  let isStopped = false;
  let calls = 0;
  let sweptAt = 0;
  let renewal: NodeJS.Timeout | undefined;
  const measured = createMeasurements({ ...deps, running: () => calls });
  const marks = createGroupCommit<Mark, void>({
    name: 'webhook marks',
    key: (mark) => mark.delivery_id,
    async run(rows) {
      await markDeliveries(database, rows);
      return rows.map(() => undefined);
    },
  });
  const poller = createPoller({
    pollMs: times.pollMs,
    poll: turn,
    onError: (error) => log.error({ err: error }, 'webhooks cannot be sent'),
  });

  async function turn(): Promise<boolean> {
    const now = dueClock.now();
    if (now - sweptAt >= times.sweepMs) {
      sweptAt = now;
      want(await findWaitingLanes(database, isoTime(now), lanesMax));
    }
    await lease();
    const isMore = await read();
    for (const lane of lanes.values()) pump(lane);
    await letGo();
    return isMore;
  }

  function want(these: readonly LaneKey[]): void {
    // This process does not send deliveries.
    if (renewal === undefined) return;
    const until = dueClock.now() + wishMs;
    for (const key of these) {
      const lane = lanes.get(key.endpointId);
      if (lane === undefined || lane.isLost) {
        if (wanted.size < lanesMax) wanted.set(key.endpointId, { key, until });
        continue;
      }
      lane.hasMore = true;
      lane.isChecked = false;
    }
  }

  async function lease(): Promise<void> {
    const now = dueClock.now();
    const asked = [...wanted.values()].slice(0, Math.max(0, lanesMax - lanes.size));
    if (asked.length === 0) return;
    const found = await leaseLanes(
      database,
      asked.map(({ key }) => key),
      { token, now: isoTime(now), leaseMs: times.leaseMs },
    );
    for (const row of found) {
      const { organizationId, endpointId, url, version, failures, failingSince } = row;
      const key = { organizationId, endpointId };
      wanted.delete(endpointId);
      lanes.set(
        endpointId,
        createLane({ key, url, version, failures, failingSince }, keys.open(row)),
      );
    }
    for (const [endpointId, wish] of wanted) if (wish.until <= now) wanted.delete(endpointId);
  }

  async function read(): Promise<boolean> {
    const now = dueClock.now();
    const wishes = [...lanes.values()].flatMap((lane) => {
      const wish = wishOf(lane, now);
      return wish === undefined ? [] : [{ lane, wish }];
    });
    if (wishes.length === 0) return false;
    const asked = wishes.map(({ wish }) => wish);
    // The next turn reads deliveries that are planned during this read.
    for (const { lane } of wishes) lane.hasMore = false;
    ended.clear();
    const found = Map.groupBy(
      await readDue(database, asked, isoTime(now)),
      ({ endpointId }) => endpointId,
    );
    let isMore = false;
    for (const { lane, wish } of wishes) {
      const isHinted = lane.hasMore;
      takeIn(lane, found.get(lane.key.endpointId) ?? [], wish, ended);
      lane.hasMore ||= isHinted;
      isMore ||= lane.hasMore && lane.queue.length <= lane.window && lane.running < lane.window;
    }
    return isMore;
  }

  function hasPlace(lane: Lane): boolean {
    if (lane.running >= lane.window) return false;
    if (lane.running < ownPlaces) return true;
    return calls < callsMax && (callsOf.get(lane.key.organizationId) ?? 0) < organizationCallsMax;
  }

  function pump(lane: Lane): void {
    const isAway = () => lane.isLost || lane.restingUntil > dueClock.now() || isStopping;
    while (lane.queue.length > 0 && hasPlace(lane) && !isAway()) {
      const delivery = lane.queue.shift();
      if (delivery !== undefined) void send(lane, delivery);
    }
    if (lane.hasMore && lane.queue.length <= lane.window / 2) poller.wake();
  }

  function count(lane: Lane, by: 1 | -1): void {
    const { organizationId } = lane.key;
    const left = (callsOf.get(organizationId) ?? 0) + by;
    lane.running += by;
    calls += by;
    if (left === 0) callsOf.delete(organizationId);
    else callsOf.set(organizationId, left);
  }

  async function send(lane: Lane, delivery: DueDelivery): Promise<void> {
    count(lane, 1);
    let isCounted = true;
    const done = () => {
      if (isCounted) count(lane, -1);
      isCounted = false;
    };
    try {
      const { url } = lane;
      const made = await attempt(deps, lane, delivery);
      // The process has stopped and cannot store the result, so another process sends it again.
      if (isStopped) return;
      failPoints.hit('after-webhook');
      done();
      const { tried, mark } = made;
      if (tried !== undefined) {
        const now = { at: clock.now(), due: dueClock.now() };
        learn(lane, tried, now, times.restsMs);
      }
      pump(lane);
      await marks.submit(mark);
      if (tried === undefined) return;
      note(tried, delivery);
      await endIfGone(lane, tried, url);
    } catch (error) {
      // The delivery stays due, and the server sends it again with the same identifier and body.
      log.warn({ err: error, deliveryId: delivery.deliveryId }, 'a delivery was not written down');
      lane.hasMore = true;
    } finally {
      done();
      ended.add(delivery.deliveryId);
      letOff(lane, delivery.deliveryId);
      pump(lane);
      if (isIdle(lane, dueClock.now())) poller.wake();
    }
  }

  function note(tried: Tried, delivery: DueDelivery): void {
    const verdict = verdictOf(tried);
    measured.attempts.inc({ outcome: verdict });
    if (verdict === 'Delivered' && delivery.attempts === 0) {
      measured.delay.observe((clock.now() - delivery.createdAt.getTime()) / 1000);
    }
  }

  /**
   * Disables an endpoint that is gone or failing for days, unless its URL has changed since the
   * call.
   */
  async function endIfGone(lane: Lane, tried: Tried, url: string): Promise<void> {
    const isGone = verdictOf(tried) === 'Gone';
    const { failingSince = Number.POSITIVE_INFINITY, failures } = lane;
    // One old failure and one new failure do not mean five days of failures.
    const isLong = clock.now() - failingSince >= disabledAfterMs && failures > retryDelaysMs.length;
    if (lane.isLost || lane.url !== url || !(isGone || isLong)) return;
    drop(lane);
    const cause = isGone ? 'Gone' : 'Unreachable';
    if (!(await deps.disable({ ...lane.key, url }, cause))) return;
    measured.disabled.inc({ reason: cause });
    log.warn({ ...lane.key, cause }, 'an endpoint was disabled');
  }

  function drop(lane: Lane): void {
    lane.isLost = true;
    lane.queue = [];
  }

  /** Stores the health of idle endpoints and releases their leases. */
  async function letGo(): Promise<void> {
    const now = dueClock.now();
    const idle = [...lanes.values()].filter((lane) => {
      if (!isIdle(lane, now)) {
        lane.idleSince = undefined;
        return false;
      }
      lane.idleSince ??= now;
      return lane.isLost || lane.restingUntil > now || now - lane.idleSince >= lingerMs;
    });
    if (idle.length > 0) await release(idle);
  }

  async function release(these: readonly Lane[]): Promise<void> {
    for (const lane of these) lanes.delete(lane.key.endpointId);
    const ends = these.map((lane) => endOf(lane, isoTime));
    await tellLanes(database, token, ends, true);
  }

  async function renew(these: readonly Lane[]): Promise<void> {
    if (these.length === 0) return;
    const { leaseMs } = times;
    const asked = these.map(({ key }) => key);
    const found = new Map(
      (await renewLanes(database, asked, { token, leaseMs })).map((row) => [row.endpointId, row]),
    );
    for (const lane of these) {
      const row = found.get(lane.key.endpointId);
      if (row === undefined || row.status !== 'Enabled') {
        drop(lane);
      } else if (row.version !== lane.version || lane.signing.until <= clock.now()) {
        const { url, version } = row;
        Object.assign(lane, { url, version, signing: keys.open(row) });
      }
    }
    const ends = these.filter(({ isLost }) => !isLost).map((lane) => endOf(lane, isoTime));
    if (ends.length > 0) await tellLanes(database, token, ends, false);
  }

  const renewing = (these: readonly Lane[]): void => {
    renew(these).catch((error: unknown) => log.warn({ err: error }, 'lanes were not renewed'));
  };

  return {
    start() {
      poller.start();
      renewal ??= setInterval(
        () => renewing([...lanes.values()]),
        times.leaseMs / renewalsPerLease,
      );
    },
    async stop() {
      clearInterval(renewal);
      renewal = undefined;
      isStopping = true;
      await poller.stop();
      for (const lane of lanes.values()) drop(lane);
      const end = dueClock.now() + stopGraceMs;
      while (calls > 0 && dueClock.now() < end) await pause(stopLookMs);
      isStopped = true;
      await marks.drain();
      if (lanes.size > 0) await release([...lanes.values()]);
    },
    wake(these) {
      want(these);
      poller.wake();
    },
    async hurry(key) {
      await endRest(database, key);
      const lane = lanes.get(key.endpointId);
      if (lane !== undefined) lane.restingUntil = 0;
      want([key]);
      poller.wake();
    },
    changed(key) {
      const lane = lanes.get(key.endpointId);
      if (lane !== undefined) renewing([lane]);
      want([key]);
      poller.wake();
    },
  };
}
