import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  listKeysStillSigning,
  listOlderKeysAfterRotation,
  maxRetiredKeys,
  type RetiredKeyColumns,
} from './retired-keys.ts';

const dayMs = 86_400_000;

/** One rotation, as the tables store it. */
function renewed(row: RetiredKeyColumns & { present: string }, name: string, now: number) {
  const older = listOlderKeysAfterRotation(row, now);
  return {
    present: name,
    previous_sealed: Buffer.from(row.present),
    previous_until: new Date(now + dayMs),
    older_keys: older,
  };
}

const names = (row: RetiredKeyColumns, now: number) =>
  listKeysStillSigning(row, now).map(({ sealed }) => sealed.toString());

test('a rotated key signs for its whole period, also after further rotations', () => {
  let row = {
    present: 'a',
    previous_sealed: null,
    previous_until: null,
    older_keys: [],
  } as RetiredKeyColumns & { present: string };
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
