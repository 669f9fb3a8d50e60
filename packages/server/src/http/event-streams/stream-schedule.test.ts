import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTicks, type Due } from './stream-schedule.ts';

describe('the row of what is due', () => {
  it('looks after those whose time has come, and after nobody else', () => {
    const ticks = createTicks();
    const seen: string[] = [];
    const first = ticks.add(() => seen.push('first'));
    const second = ticks.add(() => seen.push('second'));
    ticks.run(1000);
    assert.deepEqual(seen, [], 'nobody has said when');
    first.at(10);
    second.at(20);
    ticks.run(15);
    assert.deepEqual(seen, ['first']);
    first.at(100);
    ticks.run(20);
    assert.deepEqual(seen, ['first', 'second']);
  });

  it('gives the place of one that ended to the next, who is not touched by it any more', () => {
    const ticks = createTicks();
    const seen: number[] = [];
    const gone = ticks.add(() => seen.push(1));
    gone.at(1);
    gone.end();
    gone.end();
    const next = ticks.add(() => seen.push(2));
    const other = ticks.add(() => seen.push(3));
    gone.at(1);
    ticks.run(5);
    assert.deepEqual(seen, []);
    next.at(2);
    other.at(3);
    ticks.run(5);
    assert.deepEqual(seen, [2, 3]);
  });

  it('holds thousands, some of which end others and begin new ones meanwhile', () => {
    const ticks = createTicks();
    const places: Due[] = [];
    let looks = 0;
    for (let at = 0; at < 5000; at += 1) {
      const place = ticks.add(() => {
        looks += 1;
        places[at + 1]?.end();
        ticks.add(() => assert.fail('its time is not said')).end();
        place.at(Number.POSITIVE_INFINITY);
      });
      place.at(at);
      places.push(place);
    }
    ticks.run(4999);
    assert.equal(looks, 2500);
    ticks.run(4999);
    assert.equal(looks, 2500);
  });
});
