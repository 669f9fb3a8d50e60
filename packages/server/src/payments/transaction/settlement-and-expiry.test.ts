import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settlementDayForTime } from './settlement-and-expiry.ts';

const at = (text: string) => Date.parse(text);
const hour = 3_600_000;

describe('settlement date', () => {
  for (const [moment, zone, cutOver, date] of [
    ['2026-03-10T22:59:59.999Z', 'Europe/Paris', '00:00', '2026-03-10'],
    ['2026-03-10T23:00:00.000Z', 'Europe/Paris', '00:00', '2026-03-11'],
    ['2026-03-10T20:59:59.999Z', 'Europe/Paris', '22:00', '2026-03-10'],
    ['2026-03-10T21:00:00.000Z', 'Europe/Paris', '22:00', '2026-03-11'],
    ['2026-03-10T10:00:00.000Z', 'Pacific/Kiritimati', '00:00', '2026-03-11'],
    ['2026-03-10T11:59:59.000Z', 'Pacific/Pago_Pago', '02:00', '2026-03-10'],
    ['2026-03-10T13:00:00.000Z', 'Pacific/Pago_Pago', '02:00', '2026-03-11'],
    ['2026-12-31T23:30:00.000Z', 'UTC', '23:00', '2027-01-01'],
    // The clocks go on at 02:00, so that 02:30 is left out: its day ends with the jump.
    ['2026-03-29T00:59:59.999Z', 'Europe/Paris', '02:30', '2026-03-29'],
    ['2026-03-29T01:00:00.000Z', 'Europe/Paris', '02:30', '2026-03-30'],
    // They go back at 03:00, so that 02:30 comes twice: the first one counts.
    ['2026-10-25T00:29:59.999Z', 'Europe/Paris', '02:30', '2026-10-25'],
    ['2026-10-25T00:30:00.000Z', 'Europe/Paris', '02:30', '2026-10-26'],
    ['2026-10-25T01:10:00.000Z', 'Europe/Paris', '02:30', '2026-10-26'],
    // A day that begins an hour late, and one that is not there at all.
    ['2026-04-23T21:59:59.999Z', 'Africa/Cairo', '00:00', '2026-04-23'],
    ['2026-04-23T22:00:00.000Z', 'Africa/Cairo', '00:00', '2026-04-24'],
    ['2011-12-30T09:59:59.999Z', 'Pacific/Apia', '12:00', '2011-12-30'],
    ['2011-12-30T10:00:00.000Z', 'Pacific/Apia', '12:00', '2011-12-31'],
  ] as const) {
    it(`of ${moment} in ${zone}, cut over at ${cutOver}, is ${date}`, () => {
      assert.equal(settlementDayForTime(at(moment), zone, cutOver).date, date);
    });
  }

  // Spec: CARD-43
  it('days follow each other without a gap', () => {
    const zones = ['Europe/Paris', 'Australia/Lord_Howe'];
    for (const zone of zones) {
      for (const cutOver of ['00:00', '02:15', '23:59']) {
        let day = settlementDayForTime(at('2026-01-01T00:00:00Z'), zone, cutOver);
        for (let count = 0; count < 370; count += 1) {
          const last = settlementDayForTime(day.endsAt - 1, zone, cutOver);
          assert.equal(last.date, day.date, `${zone} ${cutOver}`);
          const next = settlementDayForTime(day.endsAt, zone, cutOver);
          const expected = new Date(at(day.date) + 24 * hour).toISOString().slice(0, 10);
          assert.equal(next.date, expected, `${zone} ${cutOver}`);
          const length = next.endsAt - day.endsAt;
          assert.ok(length >= 23 * hour && length <= 25 * hour, `${zone} ${cutOver} ${next.date}`);
          day = next;
        }
      }
    }
  });
});
