import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildReference } from './message-reference.ts';

const referenceOf = (now: number, timeZone: string, traceNumber = 1) =>
  buildReference({ kind: 'Sale', timeZone }, 'TERM0001', traceNumber, now);

test('cached times match the second and time zone of each call', () => {
  const now = Date.parse('2026-12-31T23:30:59.400Z');
  for (let round = 0; round < 2; round += 1) {
    const berlin = referenceOf(now, 'Europe/Berlin');
    assert.equal(`${berlin.localDate} ${berlin.localTime}`, '0101 003059');
    const newYork = referenceOf(now + 599, 'America/New_York');
    assert.equal(`${newYork.localDate} ${newYork.localTime}`, '1231 183059');
    assert.equal(berlin.transmittedAt, '1231233059');
    assert.equal(newYork.rrn, '636523000001');
    const later = referenceOf(now + 600, 'Europe/Berlin', 2);
    assert.equal(later.transmittedAt, '1231233100');
    assert.equal(`${later.localDate} ${later.localTime}`, '0101 003100');
    assert.equal(referenceOf(now + 1_800_000, 'Europe/Berlin').rrn, '700100000001');
  }
});
