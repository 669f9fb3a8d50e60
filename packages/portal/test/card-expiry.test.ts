// Until when the cards for tests are good.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCardExpiry } from '../src/screens/virtual-terminal/card-expiry.ts';

test('a test card expires four years after any given day', () => {
  for (const [day, year, yymm] of [
    ['2026-03-01', 2030, '3012'],
    ['2031-01-01', 2035, '3512'],
    ['2096-12-31', 2100, '0012'],
  ] as const) {
    assert.deepEqual(testCardExpiry(Date.parse(day)), { month: 12, year, yymm }, day);
  }
});
