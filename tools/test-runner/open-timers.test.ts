// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTimers } from './open-timers.ts';

test('the list contains only timers that keep the process alive', () => {
  const timer = setInterval(function ofThisTest() {}, 61_234);
  const free = setTimeout(() => {}, 61_235).unref();
  const over = setTimeout(() => {}, 61_236);
  clearTimeout(over);
  try {
    const ownTimers = openTimers().filter((text) => / 6123[456] ms/.test(text));
    assert.deepEqual(ownTimers, ['every 61234 ms: function ofThisTest() {}']);
  } finally {
    clearInterval(timer);
    clearTimeout(free);
  }
});
