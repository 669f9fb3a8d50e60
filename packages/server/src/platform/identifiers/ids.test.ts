import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isoTime, pause, systemClock } from '../time/clock.ts';
import { systemIds, withJitter } from './ids.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-([47])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('identifiers', () => {
  // Spec: JSON-10
  test('version 7 identifiers increase, also within one millisecond', () => {
    const many = Array.from({ length: 20_000 }, () => systemIds.uuid());
    assert.deepEqual(many, many.toSorted());
    assert.equal(new Set(many).size, many.length);
    assert.equal(uuidPattern.exec(many[0] ?? '')?.[1], '7');
  });

  test('version 4 identifiers contain no time', () => {
    assert.equal(uuidPattern.exec(systemIds.uuidV4())?.[1], '4');
  });

  // Spec: JSON-11
  test('a secret has at least 128 random bits', () => {
    assert.equal(Buffer.from(systemIds.secret(), 'base64url').length, 32);
    assert.equal(Buffer.from(systemIds.secret(16), 'base64url').length, 16);
    assert.throws(() => systemIds.secret(15), RangeError);
    assert.throws(() => systemIds.secret(16.5), RangeError);
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
