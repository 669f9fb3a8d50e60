import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  listKeysStillSigning,
  listOlderKeysAfterRotation,
  maxRetiredKeys,
  type RetiredKeys,
} from './retired-keys.ts';

const dayMs = 86_400_000;

/** One rotation, as the tables store it. */
function renewed(row: RetiredKeys & { present: string }, name: string, now: number) {
  const older = listOlderKeysAfterRotation(row, now);
  return {
    present: name,
    previousSealed: Buffer.from(row.present),
    previousUntil: now + dayMs,
    olderKeys: older,
  };
}

const names = (row: RetiredKeys, now: number) =>
  listKeysStillSigning(row, now).map(({ sealed }) => sealed.toString());

test('a rotated key signs for its whole period, also after further rotations', () => {
  let row: RetiredKeys & { present: string } = { present: 'a', olderKeys: [] };
  assert.deepEqual(names(row, 0), []);
  row = renewed(row, 'b', 0);
  row = renewed(row, 'c', 1000);
  row = renewed(row, 'd', 2000);
  assert.deepEqual(names(row, 2000), ['c', 'b', 'a']);
  assert.equal(listKeysStillSigning(row, 2000).length, maxRetiredKeys);
  const often = { code: 'keys_renewed_often', retryAfterMs: dayMs - 3000 };
  assert.throws(() => renewed(row, 'e', 3000), often);
  assert.deepEqual(names(row, dayMs), ['c', 'b']);
  row = renewed(row, 'e', dayMs);
  assert.deepEqual(names(row, dayMs), ['d', 'c', 'b']);
  assert.deepEqual(names(row, dayMs + 2000), ['d']);
  assert.deepEqual(names(row, 2 * dayMs), []);
});
