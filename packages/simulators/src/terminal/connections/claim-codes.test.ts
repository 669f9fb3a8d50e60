import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClaimCodes } from './claim-codes.ts';

test('a terminal sends one claim code for ten minutes, then shows and sends a new one', () => {
  let now = 1_000;
  const displayedCodes: string[] = [];
  const nextCode = createClaimCodes(
    () => now,
    (code) => void displayedCodes.push(code),
  );
  assert.deepEqual(displayedCodes, [], 'no code before the first registration');
  const first = nextCode();
  now += 599_999;
  assert.equal(nextCode(), first);
  now += 1;
  const second = nextCode();
  assert.notEqual(second, first);
  assert.deepEqual(displayedCodes, [first, second]);
});
