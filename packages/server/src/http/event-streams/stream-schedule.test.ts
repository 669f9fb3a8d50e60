import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStreamSchedule, type ScheduledTick } from './stream-schedule.ts';

describe('the schedule of streams', () => {
  it('runs exactly the ticks that are due', () => {
    const ticks = createStreamSchedule();
    const ticked: string[] = [];
    const first = ticks.add(() => ticked.push('first'));
    const second = ticks.add(() => ticked.push('second'));
    ticks.run(1000);
    assert.deepEqual(ticked, [], 'no time is set');
    first.setNext(10);
    second.setNext(20);
    ticks.run(15);
    assert.deepEqual(ticked, ['first']);
    first.setNext(100);
    ticks.run(20);
    assert.deepEqual(ticked, ['first', 'second']);
  });

  it('reuses the index of an ended stream, which cannot change the new one', () => {
    const ticks = createStreamSchedule();
    const ticked: number[] = [];
    const ended = ticks.add(() => ticked.push(1));
    ended.setNext(1);
    ended.end();
    ended.end();
    const next = ticks.add(() => ticked.push(2));
    const other = ticks.add(() => ticked.push(3));
    ended.setNext(1);
    ticks.run(5);
    assert.deepEqual(ticked, []);
    next.setNext(2);
    other.setNext(3);
    ticks.run(5);
    assert.deepEqual(ticked, [2, 3]);
  });

  it('handles thousands of streams that end and start others during a run', () => {
    const ticks = createStreamSchedule();
    const scheduled: ScheduledTick[] = [];
    let checks = 0;
    for (let at = 0; at < 5000; at += 1) {
      const timer = ticks.add(() => {
        checks += 1;
        scheduled[at + 1]?.end();
        ticks.add(() => assert.fail('its time is not said')).end();
        timer.setNext(Number.POSITIVE_INFINITY);
      });
      timer.setNext(at);
      scheduled.push(timer);
    }
    ticks.run(4999);
    assert.equal(checks, 2500);
    ticks.run(4999);
    assert.equal(checks, 2500);
  });
});
