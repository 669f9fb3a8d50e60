// Whole run: a million inputs.
// A million inputs for every parser that meets bytes from outside; `npm run fuzz` feeds more.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { isParserError, MisreadError, mutateInput } from './fuzz-target.ts';
import { randomForInput } from './seeded-input.ts';
import { fuzz } from './watch-parser-worker.ts';

const inputs = 1_000_000;
const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));
/** Where less is read, or less refused, the inputs are of one kind and prove little. */
const leastOfEach = 0.02;

// Spec: INV-24
test(`${inputs} inputs cause no crash, no hang and no wrong result (seed ${seed})`, {
  timeout: 300_000,
}, async () => {
  const { tallies, finding } = await fuzz({ seed, inputs });
  assert.equal(finding, undefined, `npm run fuzz -- --seed ${seed}: ${JSON.stringify(finding)}`);
  assert.ok(tallies.length >= 10, `${tallies.length} parsers`);
  assert.equal(
    tallies.reduce((sum, { read, refused }) => sum + read + refused, 0),
    inputs,
  );
  for (const { name, read, refused } of tallies) {
    const least = (read + refused) * leastOfEach;
    assert.ok(read > least && refused > least, `${name}: ${read} read, ${refused} refused`);
  }
});

test('an input depends only on its number and the seed', () => {
  const sound = [Buffer.from('one sound input, long enough to be spoilt in many ways')];
  const made = (seeded: number) =>
    Array.from({ length: 200 }, (_, at) =>
      mutateInput(sound, randomForInput(seeded, at)).toString('hex'),
    );
  assert.deepEqual(made(5), made(5));
  assert.notDeepEqual(made(5), made(6));
  assert.ok(new Set(made(5)).size > 100);
});

test('an error that contains input data is a finding', () => {
  class Refused extends Error {}
  assert.equal(isParserError(new Refused('length_invalid field 4 at 12'), Refused), true);
  assert.equal(isParserError(new Error('anything'), Refused), false);
  assert.throws(() => isParserError(new Refused('4111112222'), Refused), MisreadError);
});
