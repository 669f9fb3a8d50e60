import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { validate, version } from 'uuid';
import { createUuidV7 } from './uuid-v7.ts';

const timeOf = (uuid: string) => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);

/** Source with these times, one after another. */
function uuidsAt(times: readonly number[], fill: (bytes: Buffer) => void = randomFillSync) {
  let calls = 0;
  const uuid = createUuidV7({ now: () => times[calls++] ?? 0, fill });
  return times.map(() => uuid());
}

describe('increasing identifiers', () => {
  test('contain the time, and increase also if the clock goes back', () => {
    const time = fc.oneof(
      fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_003 }),
      fc.integer({ min: 1, max: 2 ** 48 - 2 }),
    );
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 60 }), (times) => {
        const made = uuidsAt(times);
        for (const [index, uuid] of made.entries()) {
          assert.ok(validate(uuid) && version(uuid) === 7, uuid);
          assert.equal(timeOf(uuid), Math.max(...times.slice(0, index + 1)));
          assert.ok(index === 0 || uuid > (made[index - 1] ?? ''), `${made[index - 1]} ${uuid}`);
        }
      }),
    );
  });

  test('use the next millisecond when the counter of one is exhausted', () => {
    let fills = 0;
    const made = uuidsAt([5, 5, 5, 6, 7], (bytes) => {
      fills += 1;
      bytes.fill(0xff);
      // The counter of the second millisecond starts low.
      bytes.fill(0, 12, 18);
    });
    assert.equal(fills, 1);
    assert.deepEqual(made.map(timeOf), [5, 6, 6, 6, 7]);
    assert.equal(made[0], '00000000-0005-7fff-bfff-ffffffffffff');
    assert.deepEqual(made, made.toSorted());
    assert.equal(new Set(made).size, made.length);
  });

  test('use new random bits for each identifier', () => {
    let fills = 0;
    const many = uuidsAt(
      Array.from({ length: 5000 }, () => 9),
      (bytes) => {
        fills += 1;
        randomFillSync(bytes);
      },
    );
    assert.equal(fills, Math.ceil(5001 / 512));
    assert.equal(new Set(many.map((uuid) => uuid.slice(26))).size, many.length);
  });

  test('start the counter of each millisecond at a random value', () => {
    const counters = uuidsAt(Array.from({ length: 64 }, (_, index) => index + 1)).map((uuid) =>
      uuid.slice(15, 23),
    );
    assert.ok(new Set(counters).size > 60);
  });
});
