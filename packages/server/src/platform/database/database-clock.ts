// A clock that follows the clock of the database, so that processes on different machines agree
// about the order of events.

import { createPoller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../time/clock.ts';
import type { Queries } from './database.ts';

/** A change of the machine's clock is noticed within this time. */
const defaultPollMs = 10_000;
/** A larger difference from the database is logged. */
const logThresholdMs = 1_000;
/**
 * The maximum accepted difference. A larger one means that the clock of the database jumped, which
 * would make expired records valid again.
 */
const toleranceMs = 30_000;
/** While the difference is too large, every sixth measurement is logged: the first, then one a minute. */
const measurementsPerError = 6;

type DatabaseClock = Clock & {
  /** Measures the time of the database once, then periodically. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Deps = {
  readonly database: Queries;
  /** The clock of the machine. */
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly pollMs?: number;
};

/**
 * Before `start` it shows the time of the machine. Without a database, or if the difference exceeds
 * half a minute, it keeps its last difference. It goes back only if the clock of the machine goes
 * back by more than the tolerance.
 *
 * @example const clock = createDatabaseClock({ database, clock: systemClock, log }); await clock.start();
 */
export function createDatabaseClock({
  database,
  clock,
  log,
  pollMs = defaultPollMs,
}: Deps): DatabaseClock {
  let aheadMs = 0;
  let loggedAheadMs = 0;
  let tooFarCount = 0;
  let latestMachineTime = Number.NEGATIVE_INFINITY;
  let latestTime = Number.NEGATIVE_INFINITY;

  function now(): number {
    const machineTime = clock.now();
    // The clock of the machine was set back by more than the tolerance: standing still until it
    // catches up would be worse.
    if (machineTime < latestMachineTime - toleranceMs)
      latestMachineTime = latestTime = Number.NEGATIVE_INFINITY;
    latestMachineTime = Math.max(latestMachineTime, machineTime);
    // The clock never shows an earlier time again.
    latestTime = Math.max(latestTime, machineTime + aheadMs);
    return latestTime;
  }

  async function measure(): Promise<void> {
    const startedAt = clock.now();
    const [row] = await database.query<{ at: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
    );
    if (row === undefined) throw new Error('the database returned no time');
    const [lowest, highest] = [row.at - clock.now() - 1, row.at - startedAt];
    // The database read its clock at some moment between request and response. A difference that is
    // possible is kept, so that network delay does not change the clock.
    const measuredMs = Math.round(Math.min(Math.max(aheadMs, lowest), highest));
    if (Math.abs(measuredMs) > toleranceMs) {
      if (tooFarCount % measurementsPerError === 0) {
        const facts = { measuredMs, aheadMs };
        log.error(
          facts,
          'the clocks of the database and this machine differ by more than 30 seconds; the difference is ignored, check both clocks',
        );
      }
      tooFarCount += 1;
      return;
    }
    tooFarCount = 0;
    aheadMs = measuredMs;
    if (Math.abs(aheadMs - loggedAheadMs) < logThresholdMs) return;
    loggedAheadMs = aheadMs;
    log.warn(
      { aheadMs },
      'the clocks of the database and this machine differ; the platform uses the time of the database',
    );
  }

  const poller = createPoller({
    pollMs,
    async poll() {
      await measure();
      return false;
    },
    onError: (error) => log.warn({ err: error }, 'the clock of the database could not be read'),
  });

  return {
    now,
    async start() {
      await measure();
      poller.start();
    },
    stop: poller.stop,
  };
}
