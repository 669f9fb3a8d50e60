// Updates reports after the commits of payments, and works slowly while the process is busy.
import type { RecentTransactions } from '../../payments/index.ts';
import {
  type Clock,
  createPoller,
  type Database,
  type Log,
  type Metrics,
  pause,
} from '../../platform/index.ts';
import { nil } from '../infrastructure/run-query.ts';
import type { Dictionaries } from './group-dictionary.ts';
import { begin, type Turned, turn } from './projection-batch.ts';
import { behindText } from './projection-sql.ts';

const pollMs = 500;
const organizationsAtOnce = 50;
/** The share of time for reports while they are current; the rest is left to payments. */
const dutyWhileFresh = 0.25;
const dutyWhileLate = 0.5;
/** From the first delay on reports are late, and from the second too late. */
const lateMs = 10_000;
const tooLateMs = 120_000;
/** At this pressure the server also refuses reports of clients; see http/limits/load-shedding.ts. */
const pressureLimit = 0.4;
/** The maximum share of time that other work may use. */
const busyLimit = 0.6;
const longestRestMs = 1_000;
/** After many events the follower waits for more, because a larger batch costs less per event. */
const manyEvents = 100;
const gatheringMs = 3_000;

export type FollowerDeps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  dictionaries: Dictionaries;
  recent?: RecentTransactions | undefined;
  /** The load of the process, from 0 to 1. */
  pressure(): number;
  /** The busy share of time since the last call; by default that of the event loop. */
  busy?: () => number;
};

export type Follower = {
  start(): void;
  stop(): Promise<void>;
  /** Starts a check at once, for tests. */
  poke(): void;
};

const nothingTurned: Turned = { events: 0, isFull: false, isHeld: false };

type Behind = { organizationId: string; isNew: boolean; since: Date | null };

/** The busy share of the event loop since the last call. */
function createBusy(): () => number {
  let seen = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    return utilization;
  };
}

/** The pause after this much work: many short pauses, which do not delay a sale. */
export function restAfter(workedMs: number, lagMs: number): number {
  const duty = lagMs >= lateMs ? dutyWhileLate : dutyWhileFresh;
  return Math.min(longestRestMs, (workedMs * (1 - duty)) / duty);
}

/**
 * The time to wait for more events after a batch. It is 0 if more events already wait: recent sales
 * are still in memory, and the server would have to read them later.
 */
export const gatherAfter = (events: number, isMore: boolean, lagMs: number): number =>
  events >= manyEvents && !isMore && lagMs < lateMs ? gatheringMs : 0;

/** True if the reports must wait until the process is less busy. */
export const mustWait = (pressure: number, busy: number, lagMs: number): boolean =>
  (pressure >= pressureLimit || busy >= busyLimit) && lagMs < tooLateMs;

/** @example const follower = createFollower({ database, clock, log, metrics, dictionaries, pressure }); */
export function createFollower(deps: FollowerDeps): Follower {
  const { database, clock, log, metrics } = deps;
  const stopped = new AbortController();
  const lag = metrics.gauge({
    name: 'switchyard_reports_lag_seconds',
    help: 'Time by which the reports were behind the payments at the last check',
  });
  const turns = metrics.counter({
    name: 'switchyard_reports_projection_batches_total',
    help: 'Batches of the feed that were projected into the reports, by outcome',
    labelNames: ['outcome'],
  });
  let place = nil;
  const busy = deps.busy ?? createBusy();

  const lagOf = ({ since }: Behind) =>
    since === null ? 0 : Math.max(0, clock.now() - since.getTime());

  /** Returns true if more events wait. */
  async function serve(behind: Behind): Promise<boolean> {
    const { organizationId } = behind;
    const lagMs = lagOf(behind);
    const rest = (workedMs: number) => pause(restAfter(workedMs, lagMs), stopped.signal);
    let turned = nothingTurned;
    try {
      if (behind.isNew) await begin(deps, organizationId);
      turned = await turn({ ...deps, rest }, organizationId);
      turns.inc({ outcome: turned.isHeld ? 'held' : 'done' });
      return turned.isFull;
    } catch (error) {
      // A failure of one organisation must not stop the reports of others.
      turns.inc({ outcome: 'failed' });
      log.error({ err: error, organizationId }, 'reports could not be brought up to date');
      return false;
    } finally {
      await pause(gatherAfter(turned.events, turned.isFull, lagMs), stopped.signal);
    }
  }

  async function look(): Promise<boolean> {
    const all = await database.query<Behind>(behindText, [place, organizationsAtOnce]);
    const isWhole = place === nil;
    place = all.length === organizationsAtOnce ? (all.at(-1)?.organizationId ?? nil) : nil;
    const oldest = Math.max(0, ...all.map(lagOf));
    if (isWhole) lag.set(oldest / 1000);
    if (mustWait(deps.pressure(), busy(), oldest)) return false;
    let isMore = place !== nil;
    for (const behind of all) {
      if (stopped.signal.aborted) return false;
      isMore = (await serve(behind)) || isMore;
    }
    return isMore;
  }

  const poller = createPoller({
    pollMs,
    poll: look,
    onError: (error) => log.warn({ err: error }, 'reports could not be looked at'),
  });

  return {
    start: poller.start,
    async stop() {
      stopped.abort();
      await poller.stop();
    },
    poke: poller.wake,
  };
}
