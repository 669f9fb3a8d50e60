import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRateCounter } from './rate-counter.ts';

function createTestCounter(limit: number, maxKeys = 100) {
  let now = 1000;
  const counter = createRateCounter({ limit, windowSeconds: 60, maxKeys, nowMs: () => now });
  return {
    count: (key: string) => counter.count(key).remaining,
    remaining: (key: string) => counter.read(key).remaining,
    resetMs: (key: string) => counter.read(key).resetMs,
    uncount: counter.uncount,
    wait(ms: number) {
      now += ms;
    },
  };
}

test('a key reaches its limit within a window, and is allowed again after it', () => {
  const { count, remaining, resetMs, wait } = createTestCounter(2);
  assert.deepEqual([count('a'), count('a'), remaining('a'), count('a')], [1, 0, 0, -1]);
  assert.equal(count('b'), 1, 'another key has its own');
  wait(59_001);
  assert.equal(count('a'), -1);
  assert.equal(resetMs('a'), 999);
  wait(999);
  assert.equal(remaining('a'), 2);
  assert.deepEqual([count('a'), count('a'), count('a')], [1, 0, -1]);
  assert.equal(resetMs('a'), 60_000);
});

test('an event that was taken back is allowed again; rejected events are not counted', () => {
  const { count, uncount } = createTestCounter(1);
  uncount('a');
  assert.equal(count('a'), 0);
  for (let times = 0; times < 5; times += 1) assert.equal(count('a'), -1);
  uncount('a');
  assert.deepEqual([count('a'), count('a')], [0, -1]);
});

test('keys above the limit share one count until windows end', () => {
  const { count, remaining, wait } = createTestCounter(1, 3);
  for (const key of ['a', 'b', 'c']) assert.equal(count(key), 0);
  assert.equal(count('d'), 0, 'the first of the further keys');
  assert.equal(count('e'), -1, 'shares its count');
  assert.equal(remaining('f'), 1, 'a key without events is not blocked by others');
  assert.equal(count('a'), -1, 'known keys keep their own counts');
  wait(60_000);
  for (const key of ['d', 'e', 'f']) assert.equal(count(key), 0, key);
});
