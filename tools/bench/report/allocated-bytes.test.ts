import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocatedBytes } from './allocated-bytes.ts';

test('allocated memory is the growth of the heap between garbage collections', () => {
  const collections = [
    { usedBefore: 150, usedAfter: 110 },
    { usedBefore: 200, usedAfter: 90 },
  ];
  assert.equal(allocatedBytes(100, collections, 120), 50 + 90 + 30);
  assert.equal(allocatedBytes(100, [], 130), 30);
});
