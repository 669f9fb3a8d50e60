import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { movableClock } from '../../../test/support/movable-clock.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { systemClock } from '../time/clock.ts';
import type { Database } from './database.ts';
import { createDatabaseClock } from './database-clock.ts';

const startMs = 1_800_000_000_000;
const hourMs = 3_600_000;

/** A database with a controlled clock and network delay, and a clock that measures on command. */
function setUp(aheadMs: number, { way = 0, pollMs = 3_600_000 } = {}) {
  const machine = movableClock(startMs);
  const loggedLines: unknown[] = [];
  const alarms: unknown[] = [];
  const differenceMs = { ahead: aheadMs, there: way, back: way, isGone: false, looks: 0 };
  const database = {
    async query() {
      differenceMs.looks += 1;
      if (differenceMs.isGone) throw new Error('the database is away');
      machine.advance(differenceMs.there);
      const at = machine.now() + differenceMs.ahead;
      machine.advance(differenceMs.back);
      return [{ at }];
    },
  } as unknown as Database;
  const log = {
    warn: (...of: unknown[]) => void loggedLines.push(of),
    error: (...of: unknown[]) => void alarms.push(of),
  } as never;
  const clock = createDatabaseClock({ database, clock: machine, log, pollMs });
  return { machine, loggedLines, alarms, differenceMs, clock };
}

describe('database clock', () => {
  test('shows the same time on machines that differ by seconds', async () => {
    for (const [ahead, way] of [
      [5_000, 0],
      [-5_000, 0],
      [7_000, 20],
      [-7_000, 20],
    ] as const) {
      const { machine, clock, loggedLines } = setUp(ahead, { way });
      await clock.start();
      const offsetMs = clock.now() - machine.now() - ahead;
      assert.ok(Math.abs(offsetMs) <= way + 1, `${offsetMs}`);
      assert.equal(loggedLines.length, 1);
      await clock.stop();
    }
  });

  test('stays with the clock of the machine if the difference is within the measurement error', async () => {
    const { machine, clock, loggedLines } = setUp(12, { way: 15 });
    await clock.start();
    assert.equal(clock.now(), machine.now());
    assert.deepEqual(loggedLines, []);
    await clock.stop();
  });

  test('follows a change of the machine’s clock, and continues without a database', async () => {
    const { machine, clock, differenceMs, loggedLines } = setUp(0, { pollMs: 5 });
    await clock.start();
    differenceMs.ahead = -9_000;
    await eventually('it has followed', () => loggedLines.length === 1);
    assert.ok(clock.now() <= machine.now() - 8_999);
    differenceMs.isGone = true;
    const { looks } = differenceMs;
    await eventually('it has looked in vain', () => differenceMs.looks > looks);
    assert.ok(clock.now() <= machine.now() - 8_999);
    await clock.stop();
  });

  // Spec: ONB-10
  test('ignores a database clock that jumps by an hour forward or back', async () => {
    for (const jumpMs of [hourMs, -hourMs]) {
      const { machine, clock, differenceMs, alarms } = setUp(5_000, { pollMs: 5 });
      await clock.start();
      const before = clock.now();
      differenceMs.ahead += jumpMs;
      await eventually('the next logged measurement', () => alarms.length === 2);
      machine.advance(1);
      assert.equal(clock.now(), before + 1);
      await clock.stop();
      // All measurements except the first differ too much; every sixth of them is logged.
      assert.equal(alarms.length, Math.ceil((differenceMs.looks - 1) / 6), `${differenceMs.looks}`);
      assert.deepEqual(Object.keys((alarms[0] as object[])[0] ?? {}), ['measuredMs', 'aheadMs']);
    }
  });

  test('shows the time of the machine if the database differs by an hour from the start', async () => {
    for (const aheadMs of [hourMs, -hourMs]) {
      const { machine, clock, differenceMs, alarms } = setUp(aheadMs, { pollMs: 5 });
      await clock.start();
      assert.equal(clock.now(), machine.now());
      assert.equal(alarms.length, 1);
      differenceMs.ahead = 30_000;
      await eventually('it follows again', () => clock.now() >= machine.now() + 29_999);
      differenceMs.ahead = hourMs;
      await eventually('the next jump is logged at once', () => alarms.length > 1);
      await clock.stop();
    }
  });

  // Spec: ONB-10
  test('never goes back for a correction or for a small step of the machine’s clock', async () => {
    const { machine, clock, differenceMs, loggedLines } = setUp(20_000, { pollMs: 5 });
    await clock.start();
    const first = clock.now();
    differenceMs.ahead = -20_000;
    await eventually('it is corrected', () => loggedLines.length === 2);
    assert.equal(clock.now(), first);
    machine.advance(10_000);
    assert.equal(clock.now(), first, 'it waits for the database');
    machine.advance(-10_000);
    assert.equal(clock.now(), first);
    machine.advance(40_000 + 7);
    assert.ok(Math.abs(clock.now() - first - 7) <= 2);
    await clock.stop();
  });

  test('goes back with a large step of the machine’s clock', async () => {
    const { machine, clock } = setUp(-5_000);
    await clock.start();
    const before = clock.now();
    machine.advance(-hourMs);
    assert.equal(clock.now(), before - hourMs);
    await clock.stop();
  });

  test('reads the time of a real database', async () => {
    const machine = { now: () => systemClock.now() - 20_000 };
    const log = { warn: () => {}, error: () => {} };
    const clock = createDatabaseClock({ database: await testDatabase(), clock: machine, log });
    await clock.start();
    // The clock of the machine equals that of the database; a busy process needs time for the query.
    assert.ok(Math.abs(clock.now() - systemClock.now()) < 10_000);
    await clock.stop();
  });
});
