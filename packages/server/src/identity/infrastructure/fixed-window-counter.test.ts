import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFixedWindowCounter } from './fixed-window-counter.ts';

function counting(limit: number, maxKeys = 100) {
  let now = 1000;
  const counter = createFixedWindowCounter({ limit, windowSeconds: 60, maxKeys, nowMs: () => now });
  return {
    ...counter,
    wait(ms: number) {
      now += ms;
    },
  };
}

test('a key reaches its limit within a window, and is allowed again after it', () => {
  const { increment, check, wait } = counting(2);
  assert.deepEqual(
    [increment('a'), increment('a'), check('a'), increment('a')],
    [undefined, undefined, 60, 60],
  );
  assert.equal(increment('b'), undefined, 'another key has its own');
  wait(59_001);
  assert.equal(increment('a'), 1, 'a second at least');
  wait(999);
  assert.equal(check('a'), undefined);
  assert.deepEqual([increment('a'), increment('a'), increment('a')], [undefined, undefined, 60]);
});

test('a decremented attempt is allowed again; refused attempts are not counted', () => {
  const { increment, decrement } = counting(1);
  decrement('a');
  assert.equal(increment('a'), undefined);
  for (let times = 0; times < 5; times += 1) assert.equal(increment('a'), 60);
  decrement('a');
  assert.deepEqual([increment('a'), increment('a')], [undefined, 60]);
});

test('keys above the limit share one counter until windows end', () => {
  const { increment, check, wait } = counting(1, 3);
  for (const key of ['a', 'b', 'c']) assert.equal(increment(key), undefined);
  assert.equal(increment('d'), undefined, 'the first stranger');
  assert.equal(increment('e'), 60, 'has taken the place of all');
  assert.equal(check('f'), 60);
  assert.equal(increment('a'), 60, 'known keys keep theirs');
  wait(60_000);
  for (const key of ['d', 'e', 'f']) assert.equal(increment(key), undefined, key);
});
