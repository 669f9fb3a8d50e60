// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A database that is killed, is paused or has no free connection: the server refuses load, leaves
// nothing half done, and recovers by itself.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import {
  assertNothingLost,
  createRandom,
  type Sale,
  sellUntilStopped,
} from './load-during-faults.ts';

const deaths = sizeOfRun({ small: 3, full: 15 });
const standstillMs = sizeOfRun({ small: 2500, full: 20_000 });
const lockedMs = sizeOfRun({ small: 2500, full: 15_000 });
const rounds = sizeOfRun({ small: 1, full: 3 });
const tills = 12;
const limitMs = sizeOfRun({ small: 120_000, full: 900_000 });

// Spec: INV-16
describe('failures of the database', { concurrency: false }, () => {
  const next = createRandom(seed);
  /** The sales of all tests, because the host totals include all of them. */
  const sales: Sale[] = [];
  let platform: FaultPlatform;

  before(async () => {
    platform = await startFaultPlatform({ settings: { SWITCHYARD_DATABASE_CONNECTIONS: '4' } });
    await platform.server.start();
  });

  after(() => platform.stop());

  /** Runs tills during the fault, and asserts the results after they have ended. */
  async function under(name: string, fault: (answered: () => number) => Promise<void>) {
    const { server, host } = platform;
    const { client, token } = await platform.openClient();
    const earlier = sales.length;
    let open = true;
    const goOn = () => open;
    const loops = Array.from({ length: tills }, () =>
      sellUntilStopped({ server, client, token, sales, next, continues: goOn }),
    );
    const answered = () => sales.filter((sale) => sale.response?.status === 200).length;
    try {
      await fault(answered);
      const enough = answered() + 20;
      await until(() => answered() >= enough || undefined, 'sales after all', 60_000);
    } finally {
      open = false;
      await Promise.all(loops);
    }
    for (const { response: answer } of sales) {
      if (answer === undefined || answer.status === 200) continue;
      // A sale that waited in the paused database until its deadline is not sent.
      if (answer.body.code === 'not_sent') continue;
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.body.retryable, true, answer.text);
    }
    const counts = await assertNothingLost({
      ...(await platform.openClient()),
      sales,
      host,
      mayFail: true,
    });
    await platform.assertLedgersAgree();
    const shed = sales.slice(earlier).filter((sale) => sale.response?.status === 503).length;
    printResult(`${name}: ${JSON.stringify(counts)}, ${shed} shed`);
  }

  test(`sales continue after the database was killed ${deaths} times`, { timeout: limitMs }, () =>
    under('killed', async (answered) => {
      for (let death = 0; death < deaths; death += 1) {
        const enough = answered() + 50;
        await until(() => answered() >= enough || undefined, 'sales to go on', 60_000);
        const pid = await platform.databasePid();
        process.kill(pid, 'SIGKILL');
        await until(
          async () => {
            const now = await platform.databasePid();
            return now > 0 && now !== pid ? true : undefined;
          },
          'another postmaster',
          60_000,
        );
      }
    }),
  );

  test(
    `no request waits forever while the database is stopped for ${standstillMs} ms`,
    { timeout: limitMs },
    () =>
      under('standing still', async (answered) => {
        for (let round = 0; round < rounds; round += 1) {
          const enough = answered() + 30;
          await until(() => answered() >= enough || undefined, 'sales to go on', 60_000);
          const processes = familyOf(await platform.databasePid());
          assert.ok(processes.length > 3, `${processes}`);
          for (const pid of processes) signal(pid, 'SIGSTOP');
          try {
            await new Promise((resolve) => setTimeout(resolve, standstillMs));
          } finally {
            for (const pid of processes) signal(pid, 'SIGCONT');
          }
        }
      }),
  );

  test(
    `the server refuses requests while all connections wait for ${lockedMs} ms`,
    { timeout: limitMs },
    () =>
      under('locked', async (answered) => {
        for (let round = 0; round < rounds; round += 1) {
          const enough = answered() + 30;
          await until(() => answered() >= enough || undefined, 'sales to go on', 60_000);
          const session = new pg.Client({ connectionString: await platform.databaseUrl() });
          await session.connect();
          try {
            await session.query('BEGIN; LOCK TABLE transactions IN ACCESS EXCLUSIVE MODE');
            await new Promise((resolve) => setTimeout(resolve, lockedMs));
            await session.query('ROLLBACK');
          } finally {
            await session.end();
          }
        }
      }),
  );
});

/** The ids of a process and its descendants. */
function familyOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number);
  return [pid, ...children];
}

function parentOf(pid: string): number {
  try {
    // The process name is in parentheses and may contain any text, so the fields are counted after
    // it.
    const [, parent] =
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(parent);
  } catch {
    return 0;
  }
}

/** A process that has already ended needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
  }
}
