// Updates reports after the commits of payments, and works slowly while the process is busy.
import type { RecentTransactions } from '../../payments/index.ts';
import {
  type Clock,
  createPoller,
  type Database,
  type Log,
  type Metrics,
  nilUuid,
  pause,
} from '../../platform/index.ts';
import type { GroupDictionaries } from './group-dictionary.ts';
import { type BatchResult, createReportPosition, runProjectionBatch } from './projection-batch.ts';
import { organizationsBehindSql } from './projection-sql.ts';

const pollMs = 500;
const organizationsAtOnce = 50;
/** The share of time for reports while they are current; the rest is left to payments. */
const workShareWhileCurrent = 0.25;
const workShareWhileLate = 0.5;
/** From the first delay on reports are late, and from the second too late. */
const lateMs = 10_000;
const tooLateMs = 120_000;
/** At this pressure the server also refuses reports of clients; see http/limits/load-shedding.ts. */
const pressureLimit = 0.4;
/** The maximum share of time that other work may use. */
const busyLimit = 0.6;
const longestPauseMs = 1_000;
/** After many events the follower waits for more, because a larger batch costs less per event. */
const manyEvents = 100;
const gatherDelayMs = 3_000;

export type FeedFollowerDeps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  dictionaries: GroupDictionaries;
  recent?: RecentTransactions | undefined;
  /** The load of the process, from 0 to 1. */
  getPressure(): number;
  /** The busy share of time since the last call; by default that of the event loop. */
  getBusyShare?: () => number;
};

export type FeedFollower = {
  start(): void;
  stop(): Promise<void>;
  /** Starts a check at once, for tests. */
  checkNow(): void;
};

const emptyBatch: BatchResult = { events: 0, isFull: false, isLockedElsewhere: false };

type OrganizationBehind = { organizationId: string; isNew: boolean; since: Date | null };

/** The busy share of the event loop since the last call. */
function createBusyMeter(): () => number {
  let previous = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, previous);
    previous = now;
    return utilization;
  };
}

/** The pause after this much work: many short pauses, which do not delay a sale. */
export function pauseAfterWork(workedMs: number, lagMs: number): number {
  const workShare = lagMs >= lateMs ? workShareWhileLate : workShareWhileCurrent;
  return Math.min(longestPauseMs, (workedMs * (1 - workShare)) / workShare);
}

/**
 * The time to wait for more events after a batch. It is 0 if more events already wait: recent sales
 * are still in memory, and the server would have to read them later.
 */
export const delayForMoreEvents = (events: number, isMore: boolean, lagMs: number): number =>
  events >= manyEvents && !isMore && lagMs < lateMs ? gatherDelayMs : 0;

/** True if the reports must wait until the process is less busy. */
export const mustWait = (pressure: number, busy: number, lagMs: number): boolean =>
  (pressure >= pressureLimit || busy >= busyLimit) && lagMs < tooLateMs;

/** @example const follower = createFeedFollower({ database, clock, log, metrics, dictionaries, getPressure }); */
export function createFeedFollower(deps: FeedFollowerDeps): FeedFollower {
  const { database, clock, log, metrics } = deps;
  const stopped = new AbortController();
  const lag = metrics.gauge({
    name: 'switchyard_reports_lag_seconds',
    help: 'Time by which the reports were behind the payments at the last check',
  });
  const batches = metrics.counter({
    name: 'switchyard_reports_projection_batches_total',
    help: 'Batches of the feed that were projected into the reports, by outcome',
    labelNames: ['outcome'],
  });
  let lastOrganizationId = nilUuid;
  const getBusyShare = deps.getBusyShare ?? createBusyMeter();

  const computeLag = ({ since }: OrganizationBehind) =>
    since === null ? 0 : Math.max(0, clock.now() - since.getTime());

  /** Returns true if more events wait. */
  async function updateOrganization(behind: OrganizationBehind): Promise<boolean> {
    const { organizationId } = behind;
    const lagMs = computeLag(behind);
    const pauseAfter = (workedMs: number) => pause(pauseAfterWork(workedMs, lagMs), stopped.signal);
    let batch = emptyBatch;
    try {
      if (behind.isNew) await createReportPosition(deps, organizationId);
      batch = await runProjectionBatch({ ...deps, pauseAfter }, organizationId);
      batches.inc({ outcome: batch.isLockedElsewhere ? 'held' : 'done' });
      return batch.isFull;
    } catch (error) {
      // A failure of one organisation must not stop the reports of others.
      batches.inc({ outcome: 'failed' });
      log.error({ err: error, organizationId }, 'reports could not be updated');
      return false;
    } finally {
      await pause(delayForMoreEvents(batch.events, batch.isFull, lagMs), stopped.signal);
    }
  }

  async function checkOrganizations(): Promise<boolean> {
    const all = await database.query<OrganizationBehind>(organizationsBehindSql, [
      lastOrganizationId,
      organizationsAtOnce,
    ]);
    const isFirstPage = lastOrganizationId === nilUuid;
    lastOrganizationId =
      all.length === organizationsAtOnce ? (all.at(-1)?.organizationId ?? nilUuid) : nilUuid;
    const oldest = Math.max(0, ...all.map(computeLag));
    if (isFirstPage) lag.set(oldest / 1000);
    if (mustWait(deps.getPressure(), getBusyShare(), oldest)) return false;
    let isMore = lastOrganizationId !== nilUuid;
    for (const behind of all) {
      if (stopped.signal.aborted) return false;
      isMore = (await updateOrganization(behind)) || isMore;
    }
    return isMore;
  }

  const poller = createPoller({
    pollMs,
    poll: checkOrganizations,
    onError: (error) => log.warn({ err: error }, 'the state of the reports could not be read'),
  });

  return {
    start: poller.start,
    async stop() {
      stopped.abort();
      await poller.stop();
    },
    checkNow: poller.wake,
  };
}
