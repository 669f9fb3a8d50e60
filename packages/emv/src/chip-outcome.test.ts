import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkChipData, parseChipData, parseChipOutcome } from './chip-data.ts';
import { EmvError } from './errors.ts';

const pan = '5413330089010012';
const card = `57115413330089010012D30122010000000000`;
const declined = '9F2608584FD385FA234BCC' + '9F270100' + '950500000080';

const sale = { amount: 1234, currencyNumeric: '978' };

test('a chip that declines says so, with its card or without', () => {
  const minimal = parseChipOutcome(`${declined}00`);
  assert.equal(minimal.cryptogramKind, 'AAC');
  assert.equal(minimal.pan, undefined);
  assert.equal(minimal.contradicts, false);
  assert.equal(minimal.forDe55, `${declined}00`);
  const withCard = parseChipOutcome(`${card}${declined}00`);
  assert.deepEqual([withCard.pan, withCard.expiry], [pan, '3012']);
  assert.equal(withCard.forDe55, minimal.forDe55, 'card data stays out of data element 55');
  assert.equal(parseChipOutcome('9F270140').cryptogramKind, 'TC');
});

test('two cards, or two dates of expiry, are a contradiction', () => {
  assert.ok(parseChipOutcome(`${card}5A084111111111111111`).contradicts);
  assert.ok(parseChipOutcome(`${card}5F2403301130`).contradicts);
  assert.ok(!parseChipOutcome(`${card}5F2403301231`).contradicts);
  assert.throws(() => parseChipOutcome('9F27'), EmvError);
});

test('only a contactless reader makes terminal transaction qualifiers', () => {
  const tapped = parseChipData(`${card}9F660436000080`);
  assert.deepEqual(checkChipData(tapped, sale), []);
  assert.deepEqual(checkChipData(tapped, { ...sale, isContact: true }), ['emv_interface_mismatch']);
  assert.deepEqual(checkChipData(parseChipData(card), { ...sale, isContact: true }), []);
});

test('a device that knows its holder says so in the results or in the qualifiers', () => {
  const onDevice = (objects: string) => parseChipData(card + objects).verifiedOnDevice;
  assert.equal(onDevice('9F3403010002'), true);
  assert.equal(onDevice('9F6C020080'), true);
  assert.equal(onDevice('9F34031F0302'), false);
  assert.equal(onDevice('9F6C028000'), false);
  assert.equal(onDevice(''), false);
});

test('a failed verification method verified no cardholder', () => {
  const verificationOf = (results: string) =>
    parseChipData(`${card}9F3403${results}`).receipt.cardholderVerification;
  assert.equal(verificationOf('410302'), 'PinVerified');
  assert.equal(verificationOf('410301'), 'None');
});

test('a date is a day of the calendar', () => {
  assert.equal(parseChipData(`${card}9A03280229`).date, '280229');
  for (const date of ['261301', '260230', '270229', '260100']) {
    assert.throws(
      () => parseChipData(`${card}9A03${date}`),
      (error) => error instanceof EmvError && error.code === 'object_invalid',
    );
  }
});
