import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { eventually } from '../../test/eventually.ts';
import { movableClock } from '../../test/movable-clock.ts';
import { systemClock } from './clock.ts';
import type { Database } from './database.ts';
import { createDatabaseClock } from './database-clock.ts';

const startMs = 1_800_000_000_000;

/** A database whose clock and whose way are the test's, and a clock that looks when it is told to. */
function setUp(aheadMs: number, { way = 0, pollMs = 3_600_000 } = {}) {
  const machine = movableClock(startMs);
  const told: unknown[] = [];
  const away = { ahead: aheadMs, there: way, back: way, isGone: false, looks: 0 };
  const database = {
    async query() {
      away.looks += 1;
      if (away.isGone) throw new Error('the database is away');
      machine.advance(away.there);
      const at = machine.now() + away.ahead;
      machine.advance(away.back);
      return [{ at }];
    },
  } as unknown as Database;
  const log = { warn: (...of: unknown[]) => void told.push(of) } as never;
  const clock = createDatabaseClock({ database, clock: machine, log, pollMs });
  return { machine, told, away, clock };
}

describe('a clock that goes by the database', () => {
  test('tells the same on machines that differ by seconds, as near as the way lets it see', async () => {
    for (const [ahead, way] of [
      [5_000, 0],
      [-5_000, 0],
      [7_000, 20],
      [-7_000, 20],
    ] as const) {
      const { machine, clock, told } = setUp(ahead, { way });
      await clock.start();
      const off = clock.now() - machine.now() - ahead;
      assert.ok(Math.abs(off) <= way + 1, `${off}`);
      assert.equal(told.length, 1);
      await clock.stop();
    }
  });

  test('stays with the machine where nobody could tell the two apart', async () => {
    const { machine, clock, told } = setUp(12, { way: 15 });
    await clock.start();
    assert.equal(clock.now(), machine.now());
    assert.deepEqual(told, []);
    await clock.stop();
  });

  test('follows a machine whose clock is set, and goes on as it went without a database', async () => {
    const { machine, clock, away } = setUp(0, { pollMs: 5 });
    await clock.start();
    away.ahead = -9_000;
    await eventually('it has followed', () => clock.now() <= machine.now() - 8_999);
    away.isGone = true;
    const { looks } = away;
    await eventually('it has looked in vain', () => away.looks > looks);
    assert.ok(clock.now() <= machine.now() - 8_999);
    await clock.stop();
  });

  test('reads the time of a real one', async () => {
    const machine = { now: () => systemClock.now() - 60_000 };
    const log = { warn: () => {} };
    const clock = createDatabaseClock({ database: await testDatabase(), clock: machine, log });
    await clock.start();
    // The machine's own clock is the database's here; a busy one takes its time to ask.
    assert.ok(Math.abs(clock.now() - systemClock.now()) < 30_000);
    await clock.stop();
  });
});
