// Tests byte ranges (RFC 9110, 14): the examples of the RFC, and unsupported ranges.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRangeHeader } from './range-header.ts';

describe('ranges of bytes', () => {
  const length = 10_000;
  for (const [header, expected] of [
    ['bytes=0-499', { first: 0, last: 499 }],
    ['bytes=500-999', { first: 500, last: 999 }],
    ['bytes=-500', { first: 9500, last: 9999 }],
    ['bytes=9500-', { first: 9500, last: 9999 }],
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=9999-20000', { first: 9999, last: 9999 }],
    ['bytes=-20000', { first: 0, last: 9999 }],
    ['bytes=10000-', 'none'],
    ['bytes=-0', 'none'],
    ['bytes=5-4', 'all'],
    ['bytes=0-0,-1', 'all'],
    ['lines=0-4', 'all'],
    ['bytes=', 'all'],
    ['bytes=a-b', 'all'],
    [undefined, 'all'],
    [['bytes=0-1'], 'all'],
  ] as const) {
    test(`${String(header)}`, () => assert.deepEqual(parseRangeHeader(header, length), expected));
  }

  test('of nothing there is no range', () => assert.equal(parseRangeHeader('bytes=-5', 0), 'none'));
});
