// Money by exponent and locale, times in the zone and pattern of the user, amounts as they are typed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { amountMax } from '@switchyard/money';
import fc from 'fast-check';
import { formatAmountInput, parseAmount } from '../src/components/forms/amount-text.ts';
import { withDayRange } from '../src/filters/day-range-query.ts';
import { createFormats, isDay, readPattern, subtractDays } from '../src/session/locale-formats.ts';

const paris = createFormats({ locale: 'fr-FR', zone: 'Europe/Paris' });
const tokyo = createFormats({ locale: 'en-GB', zone: 'Asia/Tokyo' });
const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ');

describe('money', () => {
  test('an amount has the ISO 4217 decimals of its currency', () => {
    assert.equal(plain(tokyo.money(1050, 'EUR')), 'EUR 10.50');
    assert.equal(plain(tokyo.money(1050, 'JPY')), 'JPY 1,050');
    assert.equal(plain(tokyo.money(1050, 'KWD')), 'KWD 1.050');
    assert.equal(plain(paris.money(123_456, 'EUR')), '1 234,56 EUR');
    assert.equal(plain(tokyo.money(-5, 'EUR')), '-EUR 0.05');
  });

  test('amounts above the safe integer range are exact', () => {
    assert.equal(
      plain(tokyo.money(9_007_199_254_740_993_01n, 'EUR')),
      'EUR 9,007,199,254,740,993.01',
    );
  });

  test('an amount in an unknown currency is displayed unchanged', () => {
    assert.equal(tokyo.money(7, '<b>'), '7 <b>');
  });
});

describe('times', () => {
  test('times are displayed in the time zone of the user', () => {
    assert.equal(paris.dayOf(Date.parse('2026-03-01T23:30:00Z')), '2026-03-02');
    assert.equal(tokyo.dayOf(Date.parse('2026-03-01T14:59:00Z')), '2026-03-01');
    assert.match(plain(tokyo.time('2026-03-01T00:00:00Z')), /1 Mar 2026.*09:00/);
  });

  test('a day begins at local midnight, also on daylight saving changes', () => {
    assert.equal(paris.dayStart('2026-03-29'), '2026-03-28T23:00:00.000Z');
    assert.equal(paris.dayStart('2026-03-30'), '2026-03-29T22:00:00.000Z');
    assert.equal(paris.dayStart('2026-10-25'), '2026-10-24T22:00:00.000Z');
    assert.equal(tokyo.dayStart('2026-01-01'), '2025-12-31T15:00:00.000Z');
  });

  test('times follow the pattern of the user, or the locale if the pattern is invalid', () => {
    const at = '2026-03-01T08:05:09Z';
    const written = (pattern: string) =>
      plain(createFormats({ locale: 'en-GB', zone: 'Europe/Paris', pattern }).time(at));
    assert.equal(written('yyyy-MM-dd HH:mm'), '2026-03-01 09:05');
    assert.equal(written('dd/MM/yyyy HH:mm:ss'), '01/03/2026 09:05:09');
    assert.equal(written("d.M.yy 'at' h:mm a"), '1.3.26 at 9:05 AM');
    assert.equal(written('DD.MM.YYYY HH:mm'), '01.03.2026 09:05');
    for (const odd of ['', 'qqq', 'HH:mm', 'EEEE yyyy', "yyyy 'open"]) {
      assert.equal(readPattern(odd), undefined, odd);
      assert.match(written(odd), /1 Mar 2026/);
    }
  });

  test('invalid times and time zones throw no error', () => {
    assert.equal(paris.time('soon'), 'soon');
    assert.equal(createFormats({ locale: 'en-GB', zone: 'Mars/Base' }).zone, 'UTC');
    assert.equal(subtractDays('2026-03-01', 1), '2026-02-28');
    assert.equal(subtractDays('2026-12-31', -1), '2027-01-01');
  });

  test('an incomplete or invalid day is ignored', () => {
    for (const year of ['0002', '0020', '0202', '2026']) {
      assert.match(paris.dayStart(`${year}-03-05`), new RegExp(`^${year}-03-04T2[23]:`));
    }
    assert.ok(isDay('2026-03-29') && isDay('9999-12-30') && isDay('1970-01-01'));
    const invalidDates = [
      '0002-03-05',
      '2026-02-31',
      '2026-13-01',
      '9999-12-31',
      'x',
      '',
      '2026-03-05T00',
    ];
    for (const text of invalidDates) {
      assert.equal(isDay(text), false, text);
      assert.deepEqual(withDayRange({ from: text, to: text, kind: 'Card' }, paris), {
        kind: 'Card',
        from: undefined,
        to: undefined,
      });
    }
  });
});

describe('amounts that are typed', () => {
  const cases: [text: string, currency: string, locale: string, minor: number | undefined][] = [
    ['12.50', 'EUR', 'en-GB', 1250],
    ['12,50', 'EUR', 'fr-FR', 1250],
    ['12.5', 'EUR', 'fr-FR', 1250],
    ['1 234,56', 'EUR', 'fr-FR', 123_456],
    ['1,234.56', 'EUR', 'en-GB', 123_456],
    ['1.234,56', 'EUR', 'de-DE', 123_456],
    ['1,234', 'EUR', 'en-GB', 123_400],
    ['1050', 'JPY', 'en-GB', 1050],
    ['1.050', 'KWD', 'en-GB', 1050],
    ['10.505', 'EUR', 'en-GB', undefined],
    ['10.5', 'JPY', 'en-GB', undefined],
    ['0', 'EUR', 'en-GB', undefined],
    ['-1', 'EUR', 'en-GB', undefined],
    ['1e3', 'EUR', 'en-GB', undefined],
    ['', 'EUR', 'en-GB', undefined],
    ['9999999999.99', 'EUR', 'en-GB', amountMax],
    ['10000000000.00', 'EUR', 'en-GB', undefined],
  ];
  for (const [text, currency, locale, minor] of cases) {
    test(`“${text}” ${currency} in ${locale} is ${minor}`, () => {
      assert.equal(parseAmount(text, currency, locale), minor);
    });
  }

  test('a formatted amount parses to the same amount', () => {
    const currency = fc.constantFrom('EUR', 'JPY', 'KWD');
    const locale = fc.constantFrom('en-GB', 'fr-FR', 'de-DE', 'en-IN', 'de-CH');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: amountMax }), currency, locale, (minor, of, where) => {
        assert.equal(parseAmount(formatAmountInput(minor, of, where), of, where), minor);
      }),
    );
  });
});
