import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHeld } from './held.ts';
import { createRate } from './rates.ts';
import { createLane } from './relay.ts';

const kib = 1024;

function sample() {
  let buffered = 0;
  let isPaused = false;
  let time = 7;
  const sent: (() => void)[] = [];
  const lane = createLane({
    from: {
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
      },
    },
    to: {
      send(data, _isBinary, done) {
        buffered += data.length;
        sent.push(() => {
          buffered -= data.length;
          done?.();
        });
      },
      buffered: () => buffered,
    },
    now: () => time,
    passed: () => {},
  });
  const pass = (bytes: number) => lane.pass(Buffer.alloc(bytes), true);
  const at = (now: number) => {
    time = now;
  };
  return { lane, pass, isPaused: () => isPaused, drain: () => sent.shift()?.(), at };
}

describe('a lane between two ends', () => {
  it('holds the sender above the mark, and lets it go on once most is gone', () => {
    const { lane, pass, isPaused, drain } = sample();
    for (let n = 0; n < 4; n += 1) pass(64 * kib);
    assert.equal(isPaused(), false);
    pass(64 * kib);
    assert.deepEqual([isPaused(), lane.slowSince()], [true, 7]);
    for (let n = 0; n < 3; n += 1) drain();
    assert.equal(isPaused(), true);
    drain();
    assert.deepEqual([isPaused(), lane.slowSince()], [false, undefined]);
  });

  it('gives a reader time that reads slowly, and none that reads nothing', () => {
    const { lane, pass, isPaused, drain, at } = sample();
    for (let n = 0; n < 5; n += 1) pass(64 * kib);
    at(9_000);
    drain();
    assert.deepEqual([isPaused(), lane.slowSince()], [true, 9_000]);
    pass(64 * kib);
    at(18_000);
    drain();
    assert.deepEqual([isPaused(), lane.slowSince()], [true, 18_000]);
    at(60_000);
    assert.equal(lane.slowSince(), 18_000);
  });

  it('counts from when more than 1 MiB waits, whatever of it is read', () => {
    const { lane, pass, drain, at } = sample();
    for (let n = 0; n < 18; n += 1) pass(64 * kib);
    at(5_000);
    drain();
    assert.equal(lane.slowSince(), 7);
    drain();
    assert.equal(lane.slowSince(), 5_000);
    at(6_000);
    pass(64 * kib);
    at(9_000);
    drain();
    assert.equal(lane.slowSince(), 9_000);
  });

  it('lets the sender go on when it ends', () => {
    const { lane, pass, isPaused } = sample();
    pass(300 * kib);
    lane.end();
    assert.equal(isPaused(), false);
  });
});

describe('a lane of many short messages', () => {
  it('holds the sender back by their number, and lets it go once few are left', () => {
    const waiting: (() => void)[] = [];
    let isPaused = false;
    const lane = createLane({
      from: {
        pause: () => {
          isPaused = true;
        },
        resume: () => {
          isPaused = false;
        },
      },
      to: {
        send: (_data, _isBinary, sent) => void waiting.push(sent ?? (() => {})),
        buffered: () => 2,
      },
      now: () => 7,
      passed: () => {},
    });
    for (let n = 0; n < 1024; n += 1) lane.pass(Buffer.of(), false);
    assert.equal(isPaused, false);
    lane.pass(Buffer.of(), false);
    assert.deepEqual([isPaused, lane.slowSince()], [true, 7]);
    for (const sent of waiting.splice(0, 1025 - 257)) sent();
    assert.equal(isPaused, true);
    for (const sent of waiting.splice(0, 1)) sent();
    assert.deepEqual([isPaused, lane.slowSince()], [false, undefined]);
  });
});

describe('what is kept for a while', () => {
  it('is bounded by messages and by bytes, and given once', () => {
    const held = createHeld();
    const message = (bytes: number) => ({ data: Buffer.alloc(bytes), isBinary: true });
    assert.ok(held.keep(message(200 * kib)));
    assert.ok(!held.keep(message(57 * kib)));
    assert.ok(held.keep(message(56 * kib)));
    assert.equal(held.take().length, 2);
    assert.equal(held.take().length, 0);
    for (let n = 0; n < 32; n += 1) assert.ok(held.keep(message(1)));
    assert.ok(!held.keep(message(1)));
  });
});

describe('a rate', () => {
  it('gives a burst, then so much a second, to each key', () => {
    const rate = createRate({ burst: 3, perSecond: 2 });
    const taken = (key: string, at: number) => rate.take(key, at);
    assert.deepEqual(
      [0, 0, 0, 0].map((at) => taken('a', at)),
      [true, true, true, false],
    );
    assert.equal(taken('b', 0), true);
    assert.deepEqual(
      [500, 500, 1000].map((at) => taken('a', at)),
      [true, false, true],
    );
  });
});
