import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { holdsCardNumber } from './free-text.ts';
import { isValidPan } from './pan.ts';
import { schemeOf } from './schemes.ts';

/** The search alone, without the quick look before it. */
function searched(text: string): boolean {
  const plain = text
    .normalize('NFKC')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'uuid');
  return [/\d(?:[\s\p{Cf}._:/-]?\d)+/gu, /\d(?:-?\d)+/g].some((runs) =>
    (plain.match(runs) ?? []).some((run) => {
      const digits = run.replace(/\D/g, '');
      return digits.length >= 14 && schemeOf(digits) !== 'Unknown' && isValidPan(digits);
    }),
  );
}

const card = '4012888888881881';

test('card numbers are found in every dress, and other long numbers are not', () => {
  const wide = [...card].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('');
  const found = [
    card,
    '4012 8888 8888 1881',
    `"${card.split('').join('-')}"`,
    `a ${wide}`,
    `é${card}`,
  ];
  for (const text of found) assert.equal(holdsCardNumber(text), true, text);
  const left = ['', '4012  8888  8888  1881', '4222222222222', `${card}0`, 'order 12345678901234'];
  for (const text of left) assert.equal(holdsCardNumber(text), false, text);
  assert.equal(holdsCardNumber('40128888-8888-1881-8888-401288888888'), false, 'a UUID');
});

test('the quick look changes no answer', () => {
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
