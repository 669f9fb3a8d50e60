import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { validate, version } from 'uuid';
import { isoTime, pause, systemClock } from '../time/clock.ts';
import { bucketCount, bucketOf } from './bucket.ts';
import { createUuidV7, systemIdGenerator, withJitter } from './ids.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-([47])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('identifiers', () => {
  // Spec: JSON-10
  test('version 7 identifiers increase, also within one millisecond', () => {
    const many = Array.from({ length: 20_000 }, () => systemIdGenerator.uuid());
    assert.deepEqual(many, many.toSorted());
    assert.equal(new Set(many).size, many.length);
    assert.equal(uuidPattern.exec(many[0] ?? '')?.[1], '7');
  });

  test('an identifier is in the bucket that it is made in, and still increases', () => {
    const buckets = Array.from(
      { length: 3 * bucketCount },
      (_, index) => (index * 7) % bucketCount,
    );
    const many = buckets.map((bucket) => systemIdGenerator.uuid(bucket));
    assert.deepEqual(many.map(bucketOf), buckets);
    assert.deepEqual(many, many.toSorted());
    assert.ok(many.every((uuid) => uuidPattern.test(uuid)));
  });

  test('identifiers without a bucket are spread over all buckets', () => {
    const buckets = new Set(
      Array.from({ length: 20_000 }, () => bucketOf(systemIdGenerator.uuid())),
    );
    assert.equal(buckets.size, bucketCount);
  });

  test('version 4 identifiers contain no time', () => {
    assert.equal(uuidPattern.exec(systemIdGenerator.uuidV4())?.[1], '4');
  });

  // Spec: JSON-11
  test('a secret has at least 128 random bits', () => {
    assert.equal(Buffer.from(systemIdGenerator.secret(), 'base64url').length, 32);
    assert.equal(Buffer.from(systemIdGenerator.secret(16), 'base64url').length, 16);
    assert.throws(() => systemIdGenerator.secret(15), RangeError);
    assert.throws(() => systemIdGenerator.secret(16.5), RangeError);
  });

  test('jitter stays between half of the value and the value', () => {
    for (let round = 0; round < 1000; round += 1) {
      const ms = withJitter(1000);
      assert.ok(ms >= 500 && ms <= 1000, String(ms));
    }
  });
});

describe('clock', () => {
  // Spec: JSON-9
  test('times are formatted in UTC with milliseconds', () => {
    assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z');
    assert.ok(systemClock.now() > 1_700_000_000_000);
  });

  test('an abort ends a pause without an error', async () => {
    const controller = new AbortController();
    const paused = pause(60_000, controller.signal);
    controller.abort();
    await paused;
    await pause(60_000, controller.signal);
  });
});

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
