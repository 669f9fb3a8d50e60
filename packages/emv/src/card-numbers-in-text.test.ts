import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hideCardNumbers, holdsCardNumber } from './card-numbers-in-text.ts';
import { schemeOfPan } from './card-schemes.ts';
import { isValidPan } from './pan.ts';

/** The search alone, without the quick look before it. */
function searched(text: string): boolean {
  const plain = text
    .normalize('NFKC')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'uuid');
  return [/\d(?:[\s\p{Cf}._:/-]?\d)+/gu, /\d(?:-?\d)+/g].some((runs) =>
    (plain.match(runs) ?? []).some((run) => {
      const digits = run.replace(/\D/g, '');
      return digits.length >= 14 && schemeOfPan(digits) !== 'Unknown' && isValidPan(digits);
    }),
  );
}

const card = '4012888888881881';

test('card numbers are found in every dress, and other long numbers are not', () => {
  const wide = [...card].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('');
  const textsWithCards = [
    card,
    '4012 8888 8888 1881',
    `"${card.split('').join('-')}"`,
    `a ${wide}`,
    `é${card}`,
  ];
  for (const text of textsWithCards) assert.equal(holdsCardNumber(text), true, text);
  const otherTexts = [
    '',
    '4012  8888  8888  1881',
    '4222222222222',
    `${card}0`,
    'order 12345678901234',
  ];
  for (const text of otherTexts) assert.equal(holdsCardNumber(text), false, text);
  assert.equal(holdsCardNumber('40128888-8888-1881-8888-401288888888'), false, 'a UUID');
});

test('the fast check returns the same result as the full search', () => {
  const piece = fc.oneof(
    fc.constantFrom(card, '4012', '8888', '18', '81', '1'),
    fc.constantFrom(...' \t\n\v\f\r._:/-', 'a', 'f', '"', '\\', '\u00ad', '\u00a0', '٤', '４', 'é'),
    fc.uuid(),
  );
  let positives = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const text = pieces.join('');
      const expected = searched(text);
      positives += Number(expected);
      assert.equal(holdsCardNumber(text), expected, JSON.stringify(text));
    }),
    { numRuns: 3000 },
  );
  assert.ok(positives > 100, `only ${positives} card numbers were tried`);
});

test('card numbers in external text are hidden with any characters between the digits', () => {
  const wide = [...card].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('');
  const cases: [string, string][] = [
    [card, '401288xxxxxx1881'],
    [`P${card}-7`, 'P401288xxxxxx1881-7'],
    ['P-4012-8888-8888-1881', 'P-4012-88xx-xxxx-1881'],
    ['4012.8888.8888.1881', '4012.88xx.xxxx.1881'],
    ['pay_4012_8888_8888_1881', 'pay_4012_88xx_xxxx_1881'],
    ['4012~8888:8888/1881', '4012~88xx:xxxx/1881'],
    ['card 4012 - 8888 - 8888 - 1881!', 'card 4012 - 88xx - xxxx - 1881!'],
    ['table 12, 4012 8888 8888 1881', 'table 12, 4012 88xx xxxx 1881'],
    ['4012\u200b8888\u00a08888\u20131881', '4012\u200b88xx xxxx\u20131881'],
    [wide, '401288xxxxxx1881'],
    [`${card} ${card}`, '401288xxxxxx1881 401288xxxxxx1881'],
  ];
  for (const [text, hidden] of cases) assert.equal(hideCardNumbers(text), hidden, text);
  const otherTexts = [
    'P-20260301-000017',
    '2013112011001004330000121536',
    '2026-03-01T12:30:00.000Z',
  ];
  const uuid = '40128888-8888-4881-8888-401288888888';
  const counted = 'sale-22-26f42280-8816-4317-a829-f4003863847c';
  for (const text of [...otherTexts, uuid, counted, '', '4012888888881882']) {
    assert.equal(hideCardNumbers(text), text);
  }
});

test('no card number is left, however its digits are cut and joined', () => {
  const sign = fc.string({ unit: fc.constantFrom(...' -._~:/,;|()\u2013'), maxLength: 3 });
  const cut = fc.tuple(fc.array(sign, { minLength: 16, maxLength: 16 }), fc.string());
  fc.assert(
    fc.property(cut, ([signs, before]) => {
      const digits = [...card].map((digit, at) => digit + signs[at]).join('');
      const hidden = hideCardNumbers(`${before} ${digits}`);
      assert.ok(!hidden.replace(/[^0-9x]/g, '').includes(card), hidden);
    }),
  );
});
