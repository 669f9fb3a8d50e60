// Sends due deliveries in parallel under one lease per endpoint (ADR 0042).
import {
  createConcurrencyCounter,
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
import { type AttemptDeps, attemptDelivery } from './delivery-attempt.ts';
import { createDeliveryMetrics } from './delivery-metrics.ts';
import {
  addDeliveries,
  createEndpointQueue,
  type EndpointQueue,
  isIdle,
  nextRead,
  recordResponse,
  removeDelivery,
  toHealthUpdate,
} from './endpoint-queue.ts';
import {
  type AttemptResponse,
  defaultPausesMs,
  disableAfterMs,
  retryDelaysMs,
  toOutcome,
} from './retry-schedule.ts';
import {
  type DeliveryUpdate,
  type DueDelivery,
  type EndpointKey,
  endEndpointPause,
  findDueEndpoints,
  leaseEndpoints,
  readDueDeliveries,
  renewEndpointLeases,
  storeEndpointHealth,
  updateDeliveries,
} from './send-deliveries-sql.ts';

/** The maximum number of running calls: of this process, and of one organisation. */
const callsMax = 1_024;
const organizationCallsMax = 256;
/** Each endpoint may have this many calls, even if the total limits are reached. */
const callsPerEndpointMin = 2;
const leasedEndpointsMax = 1_000;
/** How long the process keeps the lease of an idle endpoint, in case more deliveries follow. */
const idleLeaseMs = 300;
/** How long this process retries to lease an endpoint that another process holds. */
const leaseRetryMs = 2_000;
const stopGraceMs = 5_000;
const stopPollMs = 20;
const renewalsPerLease = 3;

export type DispatcherTimes = {
  readonly pollMs: number;
  /** The interval of the search for due endpoints that no process has leased. */
  readonly dueSearchMs: number;
  readonly leaseMs: number;
  /** The pauses of an endpoint that keeps failing, from the first to the longest. */
  readonly pausesMs: readonly number[];
};

const defaultTimes: DispatcherTimes = {
  pollMs: 200,
  dueSearchMs: 2_000,
  leaseMs: 15_000,
  pausesMs: defaultPausesMs,
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
  disableEndpoint(
    key: EndpointKey & { readonly url: string },
    cause: DisabledCause,
  ): Promise<boolean>;
};

export type Dispatcher = {
  start(): void;
  stop(): Promise<void>;
  /** New deliveries were planned for these endpoints. */
  wake(keys: readonly EndpointKey[]): void;
  /** Ends a pause of the endpoint, because a client waits for a delivery. */
  sendNow(key: EndpointKey): Promise<void>;
  /** The endpoint was changed. */
  reloadEndpoint(key: EndpointKey): void;
};

/** @example const dispatcher = createDispatcher(deps); dispatcher.start(); dispatcher.wake(keys); */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { database, clock, dueClock, ids, log, keys, failPoints } = deps;
  const times = { ...defaultTimes, ...deps.times };
  const token = ids.uuid();
  const queues = new Map<string, EndpointQueue>();
  const leaseRequests = new Map<string, { key: EndpointKey; until: number }>();
  const runningCalls = createConcurrencyCounter();
  /** Deliveries that were stored since the last database read began. */
  const storedSinceRead = new Set<string>();
  let isStopping = false;
  let isStopped = false;
  let searchedAt = 0;
  let renewal: NodeJS.Timeout | undefined;
  const deliveryMetrics = createDeliveryMetrics({ ...deps, running: runningCalls.total });
  const deliveryUpdates = createGroupCommit<DeliveryUpdate, void>({
    name: 'webhook marks',
    key: (update) => update.delivery_id,
    async run(rows) {
      await updateDeliveries(database, rows);
      return rows.map(() => undefined);
    },
  });
  const poller = createPoller({
    pollMs: times.pollMs,
    poll: runOnce,
    onError: (error) => log.error({ err: error }, 'sending webhooks failed'),
  });

  async function runOnce(): Promise<boolean> {
    const now = dueClock.now();
    if (now - searchedAt >= times.dueSearchMs) {
      searchedAt = now;
      requestLeases(await findDueEndpoints(database, isoTime(now), leasedEndpointsMax));
    }
    await leaseRequested();
    const isMore = await fillQueues();
    for (const queue of queues.values()) sendQueued(queue);
    await releaseIdle();
    return isMore;
  }

  function requestLeases(endpointKeys: readonly EndpointKey[]): void {
    // This process does not send deliveries.
    if (renewal === undefined) return;
    const until = dueClock.now() + leaseRetryMs;
    for (const key of endpointKeys) {
      const queue = queues.get(key.endpointId);
      if (queue === undefined || queue.isAbandoned) {
        if (leaseRequests.size < leasedEndpointsMax)
          leaseRequests.set(key.endpointId, { key, until });
        continue;
      }
      queue.hasMore = true;
      queue.isFullyRead = false;
    }
  }

  async function leaseRequested(): Promise<void> {
    const now = dueClock.now();
    const requested = [...leaseRequests.values()].slice(
      0,
      Math.max(0, leasedEndpointsMax - queues.size),
    );
    if (requested.length === 0) return;
    const leased = await leaseEndpoints(
      database,
      requested.map(({ key }) => key),
      { token, now: isoTime(now), leaseMs: times.leaseMs },
    );
    for (const row of leased) {
      const { organizationId, endpointId, url, version, failures, failingSince } = row;
      const key = { organizationId, endpointId };
      leaseRequests.delete(endpointId);
      queues.set(
        endpointId,
        createEndpointQueue({ key, url, version, failures, failingSince }, keys.open(row)),
      );
    }
    for (const [endpointId, request] of leaseRequests)
      if (request.until <= now) leaseRequests.delete(endpointId);
  }

  async function fillQueues(): Promise<boolean> {
    const now = dueClock.now();
    const reads = [...queues.values()].flatMap((queue) => {
      const request = nextRead(queue, now);
      return request === undefined ? [] : [{ queue, request }];
    });
    if (reads.length === 0) return false;
    const requests = reads.map(({ request }) => request);
    // The next turn reads deliveries that are planned during this read.
    for (const { queue } of reads) queue.hasMore = false;
    storedSinceRead.clear();
    const deliveries = Map.groupBy(
      await readDueDeliveries(database, requests, isoTime(now)),
      ({ endpointId }) => endpointId,
    );
    let isMore = false;
    for (const { queue, request } of reads) {
      const hasNewHint = queue.hasMore;
      addDeliveries(queue, deliveries.get(queue.key.endpointId) ?? [], request, storedSinceRead);
      queue.hasMore ||= hasNewHint;
      isMore ||=
        queue.hasMore && queue.waiting.length <= queue.window && queue.running < queue.window;
    }
    return isMore;
  }

  function mayCall(queue: EndpointQueue): boolean {
    if (queue.running >= queue.window) return false;
    if (queue.running < callsPerEndpointMin) return true;
    return (
      runningCalls.total() < callsMax &&
      runningCalls.count(queue.key.organizationId) < organizationCallsMax
    );
  }

  function sendQueued(queue: EndpointQueue): void {
    const isPaused = () => queue.isAbandoned || queue.pausedUntil > dueClock.now() || isStopping;
    while (queue.waiting.length > 0 && mayCall(queue) && !isPaused()) {
      const delivery = queue.waiting.shift();
      if (delivery !== undefined) void send(queue, delivery);
    }
    if (queue.hasMore && queue.waiting.length <= queue.window / 2) poller.wake();
  }

  async function send(queue: EndpointQueue, delivery: DueDelivery): Promise<void> {
    queue.running += 1;
    const endRunningCall = runningCalls.begin(queue.key.organizationId);
    let isRunning = true;
    const endCall = () => {
      if (isRunning) queue.running -= 1;
      isRunning = false;
      endRunningCall();
    };
    try {
      const { url } = queue;
      const result = await attemptDelivery(deps, queue, delivery);
      // The process has stopped and cannot store the result, so another process sends it again.
      if (isStopped) return;
      failPoints.hit('after-webhook');
      endCall();
      const { response, update } = result;
      if (response !== undefined) {
        const now = { at: clock.now(), due: dueClock.now() };
        recordResponse(queue, response, now, times.pausesMs);
      }
      sendQueued(queue);
      await deliveryUpdates.submit(update);
      if (response === undefined) return;
      recordMetrics(response, delivery);
      await disableIfGone(queue, response, url);
    } catch (error) {
      // The delivery stays due, and the server sends it again with the same identifier and body.
      log.warn(
        { err: error, deliveryId: delivery.deliveryId },
        'the result of a delivery was not stored',
      );
      queue.hasMore = true;
    } finally {
      endCall();
      storedSinceRead.add(delivery.deliveryId);
      removeDelivery(queue, delivery.deliveryId);
      sendQueued(queue);
      if (isIdle(queue, dueClock.now())) poller.wake();
    }
  }

  function recordMetrics(response: AttemptResponse, delivery: DueDelivery): void {
    const outcome = toOutcome(response);
    deliveryMetrics.attempts.inc({ outcome });
    if (outcome === 'Delivered' && delivery.attempts === 0) {
      deliveryMetrics.delay.observe((clock.now() - delivery.createdAt.getTime()) / 1000);
    }
  }

  /**
   * Disables an endpoint that is gone or failing for days, unless its URL has changed since the
   * call.
   */
  async function disableIfGone(
    queue: EndpointQueue,
    response: AttemptResponse,
    url: string,
  ): Promise<void> {
    const isGone = toOutcome(response) === 'Gone';
    const { failingSince = Number.POSITIVE_INFINITY, failures } = queue;
    // One old failure and one new failure do not mean five days of failures.
    const hasFailedForDays =
      clock.now() - failingSince >= disableAfterMs && failures > retryDelaysMs.length;
    if (queue.isAbandoned || queue.url !== url || !(isGone || hasFailedForDays)) return;
    abandonQueue(queue);
    const cause = isGone ? 'Gone' : 'Unreachable';
    if (!(await deps.disableEndpoint({ ...queue.key, url }, cause))) return;
    deliveryMetrics.disabled.inc({ reason: cause });
    log.warn({ ...queue.key, cause }, 'the server disabled an endpoint');
  }

  function abandonQueue(queue: EndpointQueue): void {
    queue.isAbandoned = true;
    queue.waiting = [];
  }

  /** Stores the health of idle endpoints and releases their leases. */
  async function releaseIdle(): Promise<void> {
    const now = dueClock.now();
    const idle = [...queues.values()].filter((queue) => {
      if (!isIdle(queue, now)) {
        queue.idleSince = undefined;
        return false;
      }
      queue.idleSince ??= now;
      return queue.isAbandoned || queue.pausedUntil > now || now - queue.idleSince >= idleLeaseMs;
    });
    if (idle.length > 0) await releaseQueues(idle);
  }

  async function releaseQueues(released: readonly EndpointQueue[]): Promise<void> {
    for (const queue of released) queues.delete(queue.key.endpointId);
    const health = released.map((queue) => toHealthUpdate(queue, isoTime));
    await storeEndpointHealth(database, token, health, true);
  }

  async function renewLeases(leasedQueues: readonly EndpointQueue[]): Promise<void> {
    if (leasedQueues.length === 0) return;
    const { leaseMs } = times;
    const endpointKeys = leasedQueues.map(({ key }) => key);
    const renewed = new Map(
      (await renewEndpointLeases(database, endpointKeys, { token, leaseMs })).map((row) => [
        row.endpointId,
        row,
      ]),
    );
    for (const queue of leasedQueues) {
      const row = renewed.get(queue.key.endpointId);
      if (row === undefined || row.status !== 'Enabled') {
        abandonQueue(queue);
      } else if (row.version !== queue.version || queue.signing.until <= clock.now()) {
        const { url, version } = row;
        Object.assign(queue, { url, version, signing: keys.open(row) });
      }
    }
    const health = leasedQueues
      .filter(({ isAbandoned }) => !isAbandoned)
      .map((queue) => toHealthUpdate(queue, isoTime));
    if (health.length > 0) await storeEndpointHealth(database, token, health, false);
  }

  const renewInBackground = (leasedQueues: readonly EndpointQueue[]): void => {
    renewLeases(leasedQueues).catch((error: unknown) =>
      log.warn({ err: error }, 'the leases of endpoints were not renewed'),
    );
  };

  return {
    start() {
      poller.start();
      renewal ??= setInterval(
        () => renewInBackground([...queues.values()]),
        times.leaseMs / renewalsPerLease,
      );
    },
    async stop() {
      clearInterval(renewal);
      renewal = undefined;
      isStopping = true;
      await poller.stop();
      for (const queue of queues.values()) abandonQueue(queue);
      const end = dueClock.now() + stopGraceMs;
      while (runningCalls.total() > 0 && dueClock.now() < end) await pause(stopPollMs);
      isStopped = true;
      await deliveryUpdates.drain();
      if (queues.size > 0) await releaseQueues([...queues.values()]);
    },
    wake(endpointKeys) {
      requestLeases(endpointKeys);
      poller.wake();
    },
    async sendNow(key) {
      await endEndpointPause(database, key);
      const queue = queues.get(key.endpointId);
      if (queue !== undefined) queue.pausedUntil = 0;
      requestLeases([key]);
      poller.wake();
    },
    reloadEndpoint(key) {
      const queue = queues.get(key.endpointId);
      if (queue !== undefined) renewInBackground([queue]);
      requestLeases([key]);
      poller.wake();
    },
  };
}
