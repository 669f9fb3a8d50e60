// A clock that goes by the database's: processes whose machines differ by seconds agree about what came first.
import type { Clock } from './clock.ts';
import type { Database } from './database.ts';
import type { Log } from './log.ts';
import { createPoller } from './poller.ts';

/** A machine whose clock is set meanwhile is followed within such a time. */
const defaultPollMs = 10_000;
/** So far from the database a machine is worth a word. */
const toldMs = 1_000;

type DatabaseClock = Clock & {
  /** The first look at the database's time; from here on it is looked at again and again. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Deps = {
  readonly database: Pick<Database, 'query'>;
  /** The machine's. */
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly pollMs?: number;
};

/**
 * Until `start` it is the machine's, and without a database it goes on as it went.
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
  let saidMs = 0;

  async function look(): Promise<void> {
    const before = clock.now();
    const [row] = await database.query<{ at: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
    );
    if (row === undefined) throw new Error('the database told no time');
    const [least, most] = [row.at - clock.now() - 1, row.at - before];
    // Somewhere in between it was read. What fits stays: the way to the database is no reason to jump.
    aheadMs = Math.round(Math.min(Math.max(aheadMs, least), most));
    if (Math.abs(aheadMs - saidMs) < toldMs) return;
    saidMs = aheadMs;
    log.warn({ aheadMs }, 'the clock of the database differs from that of this machine');
  }

  const poller = createPoller({
    pollMs,
    async turn() {
      await look();
      return false;
    },
    onError: (error) => log.warn({ err: error }, 'the clock of the database could not be read'),
  });

  return {
    now: () => clock.now() + aheadMs,
    async start() {
      await look();
      poller.start();
    },
    stop: poller.stop,
  };
}
