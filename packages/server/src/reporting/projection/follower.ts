// Keeps reports up to date behind the commits of payments: slowly while there is much else to do.
import type { RecentTransactions } from '../../payments/index.ts';
import {
  type Clock,
  createPoller,
  type Database,
  type Log,
  type Metrics,
  pause,
} from '../../platform/index.ts';
import { nil } from '../run.ts';
import type { Dictionaries } from './dictionary.ts';
import { behindText } from './store.ts';
import { begin, type Turned, turn } from './turn.ts';

const pollMs = 500;
const organizationsAtOnce = 50;
/** So much of the time is worked while the reports are young; the rest is left to the sales. */
const dutyWhileFresh = 0.25;
const dutyWhileLate = 0.5;
/** From these on the reports are late, and too late. */
const lateMs = 10_000;
const tooLateMs = 120_000;
/** Where reports of clients are turned away too; see http/load-shedding.ts. */
const pressureLimit = 0.4;
/** The share of its time that the process may be at work with other things. */
const busyLimit = 0.6;
const longestRestMs = 1_000;
/** Where much happens, more of it is waited for: the more there is at once, the less each event costs. */
const manyEvents = 100;
const gatheringMs = 3_000;

export type FollowerDeps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  dictionaries: Dictionaries;
  recent?: RecentTransactions | undefined;
  /** How much the process has to do, 0 to 1. */
  pressure(): number;
  /** The share of its time that it was at work since the last question; left out: its event loop's. */
  busy?: () => number;
};

export type Follower = {
  start(): void;
  stop(): Promise<void>;
  /** Looks now, for tests. */
  poke(): void;
};

const nothingTurned: Turned = { events: 0, isFull: false, isHeld: false };

type Behind = { organizationId: string; isNew: boolean; since: Date | null };

/** The share of the time since the last question for which the event loop had something to do. */
function createBusy(): () => number {
  let seen = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    return utilization;
  };
}

/** How long to leave the machine to others after so much work: many short rests, which no sale feels. */
export function restAfter(workedMs: number, lagMs: number): number {
  const duty = lagMs >= lateMs ? dutyWhileLate : dutyWhileFresh;
  return Math.min(longestRestMs, (workedMs * (1 - duty)) / duty);
}

/**
 * How long more is waited for behind a turn that brought in so many events. Where more waits already, not at all:
 * what has just been sold is still remembered, and later it is read again.
 */
export const gatherAfter = (events: number, isMore: boolean, lagMs: number): number =>
  events >= manyEvents && !isMore && lagMs < lateMs ? gatheringMs : 0;

/** Whether the reports wait for a quieter moment. */
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

  /** True where more waits. */
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
      // One organisation must not hold up the others.
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
