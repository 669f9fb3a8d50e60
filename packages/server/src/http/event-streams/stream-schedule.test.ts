import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStreamSchedule, type ScheduledTick } from './stream-schedule.ts';

describe('the schedule of streams', () => {
  it('runs exactly the ticks that are due', () => {
    const ticks = createStreamSchedule();
    const seen: string[] = [];
    const first = ticks.add(() => seen.push('first'));
    const second = ticks.add(() => seen.push('second'));
    ticks.run(1000);
    assert.deepEqual(seen, [], 'nobody has said when');
    first.setNext(10);
    second.setNext(20);
    ticks.run(15);
    assert.deepEqual(seen, ['first']);
    first.setNext(100);
    ticks.run(20);
    assert.deepEqual(seen, ['first', 'second']);
  });

  it('reuses the index of an ended stream, which cannot change the new one', () => {
    const ticks = createStreamSchedule();
    const seen: number[] = [];
    const gone = ticks.add(() => seen.push(1));
    gone.setNext(1);
    gone.end();
    gone.end();
    const next = ticks.add(() => seen.push(2));
    const other = ticks.add(() => seen.push(3));
    gone.setNext(1);
    ticks.run(5);
    assert.deepEqual(seen, []);
    next.setNext(2);
    other.setNext(3);
    ticks.run(5);
    assert.deepEqual(seen, [2, 3]);
  });

  it('handles thousands of streams that end and start others during a run', () => {
    const ticks = createStreamSchedule();
    const places: ScheduledTick[] = [];
    let looks = 0;
    for (let at = 0; at < 5000; at += 1) {
      const place = ticks.add(() => {
        looks += 1;
        places[at + 1]?.end();
        ticks.add(() => assert.fail('its time is not said')).end();
        place.setNext(Number.POSITIVE_INFINITY);
      });
      place.setNext(at);
      places.push(place);
    }
    ticks.run(4999);
    assert.equal(looks, 2500);
    ticks.run(4999);
    assert.equal(looks, 2500);
  });
});
