import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passesLuhn } from '@switchyard/contract';
import fc from 'fast-check';
import { type Scheme, schemeOfPan } from './card-schemes.ts';
import { findPans, isValidPan, looksLikePan, maskPan, redactPans } from './pan.ts';

/** Public test numbers of the schemes and of payment companies. */
const testPans: Readonly<Partial<Record<Scheme, readonly string[]>>> = {
  Visa: [
    '4111111111111111',
    '4012888888881881',
    '4242424242424242',
    '4761739001010119',
    '4917610000000000',
  ],
  Mastercard: [
    '5555555555554444',
    '5105105105105100',
    '2223000048400011',
    '2222400070000005',
    '5413330089010012',
  ],
  Amex: ['378282246310005', '371449635398431', '370000000000002'],
  Discover: ['6011111111111117', '6011000990139424'],
  Diners: ['30569309025904', '3056930009020004', '36006666333344'],
  Jcb: ['3530111333300000', '3566002020360505'],
  Maestro: ['6771798021000008', '6759649826438453'],
  UnionPay: ['6243030000000001', '6205500000000000004'],
  Dankort: ['5019717010103742'],
};
const allPans = Object.values(testPans).flat();

test('public test numbers are valid and of their scheme', () => {
  assert.equal(allPans.length, 25);
  for (const [scheme, pans] of Object.entries(testPans)) {
    for (const pan of pans) {
      assert.equal(isValidPan(pan), true, pan);
      assert.equal(schemeOfPan(pan), scheme, pan);
    }
  }
});

test('a wrong check digit, length or character is no card number', () => {
  for (const pan of ['4276555555555555', '5555555551234567', '41111111111', '', '4111 1111']) {
    assert.equal(isValidPan(pan), false, pan);
  }
  assert.equal(passesLuhn('0'.repeat(16)), true);
  assert.equal(isValidPan('0'.repeat(20)), false);
});

test('every wrong digit is found', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...allPans),
      fc.nat(18),
      fc.integer({ min: 1, max: 9 }),
      (pan, at, increment) => {
        const index = at % pan.length;
        const digit = (Number(pan[index]) + increment) % 10;
        assert.equal(isValidPan(pan.slice(0, index) + digit + pan.slice(index + 1)), false);
      },
    ),
  );
});

test('the longest prefix names the scheme', () => {
  assert.equal(schemeOfPan('6703444444444449'), 'Bancontact');
  assert.equal(schemeOfPan('6500021111111111'), 'Verve');
  assert.equal(schemeOfPan('6510111111111111'), 'Discover');
  assert.equal(schemeOfPan('6062821111111111'), 'Hipercard');
  assert.equal(schemeOfPan('2200001111111111'), 'Mir');
  assert.equal(schemeOfPan('9792001111111111'), 'Troy');
  assert.equal(schemeOfPan('6510321111111111'), 'Discover');
  assert.equal(schemeOfPan('6516521111111111'), 'Elo');
  assert.equal(schemeOfPan('4011781111111111'), 'Elo');
  assert.equal(schemeOfPan('6373742311111111'), 'Hiper');
  assert.equal(schemeOfPan('5078651111111111'), 'Verve');
  assert.equal(schemeOfPan('5078011111111111'), 'Meeza');
  assert.equal(schemeOfPan('5888451111111111'), 'Mada');
  assert.equal(schemeOfPan('4405331111111111'), 'Mada');
  assert.equal(schemeOfPan('6522001111111111'), 'RuPay');
  assert.equal(schemeOfPan('8171999927660000'), 'UnionPay');
  assert.equal(schemeOfPan('5019717010103742'), 'Dankort');
  assert.equal(schemeOfPan('411111111111111'), 'Unknown');
  assert.equal(schemeOfPan(''), 'Unknown');
  assert.equal(schemeOfPan('not a number'), 'Unknown');
});

test('masking shows at most the first six and the last four digits', () => {
  assert.equal(maskPan('4111111111111111'), '411111******1111');
  assert.equal(maskPan('378282246310005'), '378282*****0005');
  assert.equal(maskPan('36006666333344'), '360066****3344');
  assert.equal(maskPan('4222222222222'), '42222****2222');
  assert.equal(maskPan('676770000000'), '6767****0000');
  assert.equal(maskPan('1234567'), '*******');
  fc.assert(
    fc.property(fc.stringMatching(/^\d{8,19}$/), (pan) => {
      const masked = maskPan(pan);
      assert.equal(masked.length, pan.length);
      assert.match(masked, /^\d{0,6}\*{4,}\d{4}$/);
    }),
  );
});

test('card numbers are found in every usual disguise', () => {
  for (const pan of allPans) {
    const grouped = pan.replace(/(\d{4})(?=\d)/g, '$1 ');
    const track = `;${pan}=30122010000000000?`;
    const texts = [pan, grouped, grouped.replaceAll(' ', '-'), `/cards/${pan}?x=1`, track];
    const dump = `5A08${pan.padEnd(20, 'F')}`;
    for (const text of [...texts, `{"n":${pan}}`, dump, `16${pan}`]) {
      assert.equal(looksLikePan(text), true, text);
      assert.equal(redactPans(text).includes(pan), false, text);
    }
  }
  assert.equal(redactPans('a 4111-1111-1111-1111 b'), 'a 411111******1111 b');
});

test('ordinary numbers are left alone', () => {
  const texts = [
    '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
    '2026-03-01T12:30:00.000Z',
    '{"time":1763714532125,"level":30}',
    'amount 000000001050 stan 123456',
    '411111******1111',
    '00000000000000000000',
  ];
  for (const text of texts) assert.deepEqual(findPans(text), [], text);
});

test('a card number is found at any position', () => {
  const noise = fc.string({ maxLength: 20 }).map((text) => text.replace(/[\d -]/g, 'x'));
  fc.assert(
    fc.property(noise, fc.constantFrom(...allPans), noise, (before, pan, after) => {
      const text = before + pan + after;
      assert.deepEqual(findPans(text), [{ start: before.length, end: before.length + pan.length }]);
    }),
  );
});

test('no text makes the scan fail, and redacting twice changes nothing more', () => {
  const sign = fc.constantFrom(...'0123456789', ...'45', ' ', '-');
  let longest = 0;
  fc.assert(
    fc.property(fc.string({ unit: sign, maxLength: 80, size: 'max' }), (text) => {
      longest = Math.max(longest, text.length);
      const once = redactPans(text);
      assert.equal(looksLikePan(once), false);
      assert.equal(redactPans(once), once);
    }),
    { numRuns: 1000 },
  );
  assert.ok(longest > 60, `only ${longest} characters were tried`);
});
