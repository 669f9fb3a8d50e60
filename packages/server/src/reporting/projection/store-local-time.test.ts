// Tests the local day and hour of a store across clock changes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localTimeAt } from './store-local-time.ts';

describe('the day and hour of a store', () => {
  for (const [moment, zone, day, hour] of [
    ['2026-03-10T22:59:59.999Z', 'Europe/Paris', '2026-03-10', 23],
    ['2026-03-10T23:00:00.000Z', 'Europe/Paris', '2026-03-11', 0],
    // A day of 23 hours: at two o'clock the clocks change to three.
    ['2026-03-29T00:59:59.999Z', 'Europe/Paris', '2026-03-29', 1],
    ['2026-03-29T01:00:00.000Z', 'Europe/Paris', '2026-03-29', 3],
    ['2026-03-29T21:59:59.999Z', 'Europe/Paris', '2026-03-29', 23],
    ['2026-03-29T22:00:00.000Z', 'Europe/Paris', '2026-03-30', 0],
    // A day of 25 hours: two o'clock occurs twice.
    ['2026-10-25T00:30:00.000Z', 'Europe/Paris', '2026-10-25', 2],
    ['2026-10-25T01:30:00.000Z', 'Europe/Paris', '2026-10-25', 2],
    ['2026-10-25T22:59:59.999Z', 'Europe/Paris', '2026-10-25', 23],
    ['2026-10-25T23:00:00.000Z', 'Europe/Paris', '2026-10-26', 0],
    ['2026-01-01T10:15:00.000Z', 'Asia/Kolkata', '2026-01-01', 15],
    ['2026-01-01T18:29:59.999Z', 'Asia/Kolkata', '2026-01-01', 23],
    ['2026-01-01T18:30:00.000Z', 'Asia/Kolkata', '2026-01-02', 0],
    ['2026-01-01T10:00:00.000Z', 'Pacific/Kiritimati', '2026-01-02', 0],
    ['2026-01-01T10:59:59.999Z', 'Pacific/Pago_Pago', '2025-12-31', 23],
    // This zone changes its clocks by half an hour.
    ['2026-04-04T15:15:00.000Z', 'Australia/Lord_Howe', '2026-04-05', 1],
    ['2026-12-31T23:59:59.999Z', 'UTC', '2026-12-31', 23],
  ] as const) {
    test(`of ${moment} in ${zone} are ${day}, ${hour}`, () => {
      assert.deepEqual(localTimeAt(Date.parse(moment), zone), { day, hour });
    });
  }

  // Spec: REP-5
  test('cover every day in order, also when the zones alternate', () => {
    const zones = ['Europe/Paris', 'America/Sao_Paulo', 'Australia/Adelaide', 'Africa/Cairo'];
    const days = new Map(zones.map((zone) => [zone, new Set<string>()]));
    for (
      let at = Date.parse('2026-01-01T00:00:00Z');
      at < Date.parse('2027-01-01T00:00:00Z');
      at += 1_800_000
    ) {
      for (const zone of zones) days.get(zone)?.add(localTimeAt(at, zone).day);
    }
    for (const [zone, seen] of days) {
      const sorted = [...seen].sort();
      assert.deepEqual([...seen], sorted, zone);
      assert.ok(seen.size >= 365 && seen.size <= 366, zone);
    }
  });
});
