// The clock for due times, for any steps of the process clock.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { movableClock } from '../../../test/support/movable-clock.ts';
import { createDueClock } from './due-clock.ts';

const toleranceMs = 5_000;
const hourMs = 3_600_000;

function started() {
  const clock = movableClock();
  const logged: [level: string, facts: unknown][] = [];
  const log = {
    warn: (facts: unknown) => void logged.push(['warn', facts]),
    info: (facts: unknown) => void logged.push(['info', facts]),
  };
  const dueClock = createDueClock(clock, log as unknown as Parameters<typeof createDueClock>[1]);
  dueClock.now();
  return { clock, dueClock, logged };
}

const steps = fc.array(fc.integer({ min: -2 * hourMs, max: 2 * hourMs }), { maxLength: 30 });

describe('clock for due times', () => {
  it('is never more than five seconds behind its highest time, nor behind the process clock', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { clock, dueClock } = started();
        let highest = dueClock.now();
        for (const ms of all) {
          clock.advance(ms);
          const now = dueClock.now();
          assert.ok(now >= clock.now());
          assert.ok(now >= highest - toleranceMs, `${now} behind ${highest}`);
          highest = Math.max(highest, now);
        }
      }),
    );
  });

  it('equals the process clock while that goes back by at most five seconds, and logs nothing', () => {
    const small = fc.array(fc.integer({ min: 0, max: hourMs }), { maxLength: 30 });
    fc.assert(
      fc.property(small, fc.integer({ min: 0, max: toleranceMs }), (all, backMs) => {
        const { clock, dueClock, logged } = started();
        for (const ms of all) {
          clock.advance(ms);
          assert.equal(dueClock.now(), clock.now());
        }
        clock.advance(-backMs);
        assert.equal(dueClock.now(), clock.now());
        assert.deepEqual(logged, []);
      }),
    );
  });

  it('runs as fast as the process clock after a step back', () => {
    const stepsBack = fc.integer({ min: 3 * toleranceMs, max: 30 * 24 * hourMs });
    const passed = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 30 });
    fc.assert(
      fc.property(stepsBack, passed, (backMs, all) => {
        const { clock, dueClock, logged } = started();
        const before = dueClock.now();
        clock.advance(-backMs);
        let expected = before - toleranceMs;
        assert.equal(dueClock.now(), expected);
        for (const ms of all) {
          clock.advance(ms);
          expected += ms;
          // The clock catches up with a small step.
          if (clock.now() >= before - toleranceMs) return;
          assert.equal(dueClock.now(), expected);
        }
        const aheadMs = backMs - toleranceMs;
        assert.deepEqual(logged, [['warn', { stepMs: backMs, aheadMs }]]);
      }),
    );
  });

  it('equals the process clock again after its correction, and logs each step and its end once', () => {
    const { clock, dueClock, logged } = started();
    const before = clock.now();
    clock.advance(-hourMs);
    for (let each = 0; each < 3; each += 1) dueClock.now();
    clock.advance(hourMs + 1_000);
    assert.equal(dueClock.now(), before + 1_000);
    assert.equal(dueClock.now(), clock.now());
    const aheadMs = hourMs - toleranceMs;
    assert.deepEqual(logged, [
      ['warn', { stepMs: hourMs, aheadMs }],
      ['info', { aheadMs }],
    ]);
  });

  it('converts times to due times and back with the same distance from now', () => {
    const { clock, dueClock } = started();
    assert.equal(dueClock.toDue(clock.now() + 60_000), clock.now() + 60_000);
    clock.advance(-hourMs);
    const at = clock.now() + 60_000;
    const dueAt = dueClock.toDue(at);
    assert.equal(dueAt - dueClock.now(), 60_000);
    assert.equal(dueClock.fromDue(dueAt), at);
  });

  it('ends deadlines that were set before the step, and keeps those that were set after it', () => {
    const { clock, dueClock } = started();
    const before = clock.now();
    clock.advance(10_000);
    assert.equal(dueClock.hasPassed(before + 60_000, before), false);
    clock.advance(-hourMs);
    const after = clock.now();
    dueClock.now();
    clock.advance(59_000);
    assert.equal(dueClock.hasPassed(before + 60_000, before), true);
    assert.equal(dueClock.hasPassed(after + 60_000, after), false);
    clock.advance(1_000);
    assert.equal(dueClock.hasPassed(after + 60_000, after), true);
  });
});
