// A clock that goes by the database's: processes whose machines differ by seconds agree about what came first.

import { createPoller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../time/clock.ts';
import type { Database } from './database.ts';

/** A machine whose clock is set meanwhile is followed within such a time. */
const defaultPollMs = 10_000;
/** So far from the database a machine is worth a word. */
const logThresholdMs = 1_000;
/** What clocks may differ by here. A database further off has jumped itself, and would revive what has expired. */
const toleranceMs = 30_000;
/** While it is too far off, one look in so many is logged: the first, then one a minute. */
const measurementsPerError = 6;

type DatabaseClock = Clock & {
  /** The first look at the database's time; from here on it is looked at again and again. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Deps = {
  readonly database: Pick<Database, 'query'>;
  /** The machine's. */
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly pollMs?: number;
};

/**
 * Until `start` it is the machine's, and without a database it goes on as it went, as it does with one
 * that is more than half a minute off. It never goes back but with a machine that is set back by more.
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
    // A machine that was set so far back is followed: to stand still until it is there again would be worse.
    if (machineTime < latestMachineTime - toleranceMs)
      latestMachineTime = latestTime = Number.NEGATIVE_INFINITY;
    latestMachineTime = Math.max(latestMachineTime, machineTime);
    // What was told once is past, whatever the database says since.
    latestTime = Math.max(latestTime, machineTime + aheadMs);
    return latestTime;
  }

  async function measure(): Promise<void> {
    const startedAt = clock.now();
    const [row] = await database.query<{ at: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
    );
    if (row === undefined) throw new Error('the database told no time');
    const [lowest, highest] = [row.at - clock.now() - 1, row.at - startedAt];
    // Somewhere in between it was read. What fits stays: the way to the database is no reason to jump.
    const measuredMs = Math.round(Math.min(Math.max(aheadMs, lowest), highest));
    if (Math.abs(measuredMs) > toleranceMs) {
      if (tooFarCount % measurementsPerError === 0) {
        const facts = { foundMs: measuredMs, aheadMs };
        log.error(facts, 'the clock of the database is too far from that of this machine');
      }
      tooFarCount += 1;
      return;
    }
    tooFarCount = 0;
    aheadMs = measuredMs;
    if (Math.abs(aheadMs - loggedAheadMs) < logThresholdMs) return;
    loggedAheadMs = aheadMs;
    log.warn({ aheadMs }, 'the clock of the database differs from that of this machine');
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
