import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCounter } from './fixed-window-counter.ts';

function counting(limit: number, keysMax = 100) {
  let now = 1000;
  const counter = createCounter({ limit, windowSeconds: 60, keysMax, nowMs: () => now });
  return {
    ...counter,
    wait(ms: number) {
      now += ms;
    },
  };
}

test('so many of a key in a window, and again when it is over', () => {
  const { take, look, wait } = counting(2);
  assert.deepEqual([take('a'), take('a'), look('a'), take('a')], [undefined, undefined, 60, 60]);
  assert.equal(take('b'), undefined, 'another key has its own');
  wait(59_001);
  assert.equal(take('a'), 1, 'a second at least');
  wait(999);
  assert.equal(look('a'), undefined);
  assert.deepEqual([take('a'), take('a'), take('a')], [undefined, undefined, 60]);
});

test('what is given back may be taken again; what was refused is not counted', () => {
  const { take, giveBack } = counting(1);
  giveBack('a');
  assert.equal(take('a'), undefined);
  for (let times = 0; times < 5; times += 1) assert.equal(take('a'), 60);
  giveBack('a');
  assert.deepEqual([take('a'), take('a')], [undefined, 60]);
});

test('keys beyond the limit share a place, and room is made as windows end', () => {
  const { take, look, wait } = counting(1, 3);
  for (const key of ['a', 'b', 'c']) assert.equal(take(key), undefined);
  assert.equal(take('d'), undefined, 'the first stranger');
  assert.equal(take('e'), 60, 'has taken the place of all');
  assert.equal(look('f'), 60);
  assert.equal(take('a'), 60, 'known keys keep theirs');
  wait(60_000);
  for (const key of ['d', 'e', 'f']) assert.equal(take(key), undefined, key);
});
