import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkChipData, parseChipData } from './chip-data.ts';
import { alwaysTags, de55Tags, platformOnlyTags, tagFacts } from './emv-tags.ts';
import { EmvError } from './errors.ts';
import { bytesOf, decodeTlv } from './tlv.ts';

const pan = '5413330089010012';
/** A contact chip sale of 12.34 EUR. */
const objects: Readonly<Record<string, string>> = {
  '9F26': '584FD385FA234BCC',
  '9F27': '80',
  '9F10': '0110A00003220000000000000000000000FF',
  '9F37': '6D58EF13',
  '9F36': '0001',
  '95': '0000000000',
  '9A': '260301',
  '9C': '00',
  '9F02': '000000001234',
  '5F2A': '0978',
  '82': '1980',
  '9F1A': '0056',
  '9F03': '000000000000',
  '9F33': 'E0B0C8',
  '9F34': '420302',
  '9F35': '22',
  '84': 'A0000000041010',
  '5F34': '01',
  '57': '5413330089010012D28122010000000000000F',
  '5A': '5413330089010012',
  '5F24': '281231',
  '5F20': '484F4C4445522F54455354',
  '50': '4D415354455243415244',
  '9F12': '4D617374657243617264',
  '9F11': '01',
  '9B': 'E800',
  DF8129: '30F0F01088F0FF00',
};

const blob = (changes: Record<string, string | undefined> = {}) =>
  Object.entries({ ...objects, ...changes })
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([tag, value]) => tag + (value.length / 2).toString(16).padStart(2, '0') + value)
    .join('');

const sale = { amount: 1234, currencyNumeric: '978' };

test('a chip sale is read', () => {
  const chip = parseChipData(blob());
  assert.equal(chip.pan, pan);
  assert.equal(chip.expiry, '2812');
  assert.equal(chip.track2, `${pan}=28122010000000000000`);
  assert.equal(chip.serviceCode, '201');
  assert.equal(chip.panSequence, '01');
  assert.equal(chip.amount, 1234);
  assert.equal(chip.currency, '978');
  assert.equal(chip.date, '260301');
  assert.equal(chip.cryptogramKind, 'ARQC');
  assert.deepEqual(chip.missing, []);
  assert.deepEqual(chip.receipt, {
    applicationId: 'A0000000041010',
    applicationLabel: 'MasterCard',
    cryptogram: '584FD385FA234BCC',
    cryptogramInformation: '80',
    terminalVerificationResults: '0000000000',
    transactionStatusInformation: 'E800',
    cardholderVerification: 'PinVerified',
  });
  assert.deepEqual(checkChipData(chip, sale), []);
});

test('the acquirer gets only listed data objects, and no object with card data', () => {
  const { forDe55 } = parseChipData(blob());
  const tags = decodeTlv(bytesOf(forDe55)).map(({ tag }) => tag);
  assert.ok(tags.length >= alwaysTags.length);
  for (const tag of tags) {
    assert.ok(de55Tags.has(tag), tag);
    assert.ok(!platformOnlyTags.has(tag), tag);
  }
  assert.ok(!forDe55.includes(pan));
  assert.ok(!tags.includes('DF8129') && !tags.includes('50') && !tags.includes('5F24'));
});

test('templates are read into, and lengths are written in their shortest form', () => {
  const rest = blob({ '9F27': undefined, '9F36': undefined, '9F26': undefined });
  const template = `770C${'9F2782000180'}${'9F3681020001'}`;
  const another = `700C${'9F268108'}${'0102030405060708'}`;
  const chip = parseChipData(rest + template + another);
  const canonical = '9F270180' + '9F36020001' + '9F26080102030405060708';
  assert.equal(chip.forDe55, parseChipData(rest).forDe55 + canonical);
  assert.equal(chip.receipt.cryptogram, '0102030405060708');
  assert.throws(() => parseChipData(`${blob()}77049F270180`), {
    code: 'tlv_duplicate_tag',
    tag: '9F27',
  });
});

test('one of track 2 and card number is enough, and one source of the expiry', () => {
  assert.equal(parseChipData(blob({ '5A': undefined, '5F24': undefined })).expiry, '2812');
  const plain = parseChipData(blob({ '57': undefined }));
  assert.equal(plain.pan, pan);
  assert.equal(plain.track2, undefined);
  assert.throws(() => parseChipData(blob({ '57': undefined, '5A': undefined })), {
    code: 'pan_missing',
  });
  assert.throws(() => parseChipData(blob({ '57': undefined, '5F24': undefined })), {
    code: 'expiry_missing',
  });
});

test('the data signed by the chip is compared with the sale', () => {
  const differs = (changes: Record<string, string>) =>
    checkChipData(parseChipData(blob(changes)), sale);
  assert.deepEqual(differs({ '9F02': '000000001235' }), ['emv_amount_mismatch']);
  assert.deepEqual(differs({ '9F03': '000000000100' }), ['emv_other_amount_mismatch']);
  const withCash = parseChipData(blob({ '9F03': '000000000100' }));
  assert.deepEqual(checkChipData(withCash, { ...sale, otherAmount: 100 }), []);
  assert.deepEqual(differs({ '5F2A': '0840' }), ['emv_currency_mismatch']);
  assert.deepEqual(differs({ '5A': '5555555555554444' }), ['emv_pan_mismatch']);
  assert.deepEqual(differs({ '5F24': '290131' }), ['emv_expiry_mismatch']);
  const silent = parseChipData(blob({ '9F02': undefined, '5F2A': undefined }));
  assert.deepEqual(checkChipData(silent, sale), []);
  assert.deepEqual(silent.missing, ['9F02', '5F2A']);
});

test('objects outside their format are refused by tag', () => {
  const faults: Record<string, string> = {
    '9F02': '00000000123A',
    '5F2A': '978A',
    '5A': '54133300',
    '5F24': '281331',
    '57': '5413330089010012281220',
    '9F26': '5811',
    '9F27': '8000',
    '95': '00',
  };
  for (const [tag, value] of Object.entries(faults)) {
    assert.throws(() => parseChipData(blob({ [tag]: value })), { code: 'object_invalid', tag });
  }
});

test('data element 55 never grows beyond its 255 bytes', () => {
  const bytes = [...de55Tags].map((tag) => tag.length / 2 + 1 + (tagFacts(tag)?.lengthMax ?? 0));
  assert.ok(bytes.reduce((sum, length) => sum + length, 0) <= 255);
});

test('methods of verification and labels are read for the receipt', () => {
  const receipt = (changes: Record<string, string | undefined>) =>
    parseChipData(blob(changes)).receipt;
  assert.equal(receipt({ '9F34': '5E0300' }).cardholderVerification, 'Signature');
  assert.equal(receipt({ '9F34': '1F0302' }).cardholderVerification, 'None');
  assert.equal(receipt({ '9F34': undefined }).cardholderVerification, undefined);
  assert.equal(receipt({ '9F11': '05' }).applicationLabel, 'MASTERCARD');
  assert.equal(receipt({ '9F11': undefined, '50': '00010A' }).applicationLabel, undefined);
  const label = Buffer.from(pan).toString('hex');
  assert.equal(receipt({ '9F11': undefined, '50': label }).applicationLabel, '541333******0012');
  assert.equal(receipt({ '84': undefined, '9F06': 'A000000003' }).applicationId, 'A000000003');
});

test('changed data is rejected without a value in the error, or parsed', () => {
  const bytes = bytesOf(blob());
  const change = fc.record({
    at: fc.nat(bytes.length - 1),
    value: fc.integer({ min: 0, max: 255 }),
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 4 });
  const cut = fc.nat(bytes.length);
  fc.assert(
    fc.property(changes, cut, (edits, length) => {
      const mutant = Buffer.from(bytes);
      for (const { at, value } of edits) mutant[at] = value;
      for (const hex of [mutant.toString('hex'), mutant.subarray(0, length).toString('hex')]) {
        try {
          const { forDe55 } = parseChipData(hex);
          const tags = decodeTlv(bytesOf(forDe55)).map(({ tag }) => tag);
          assert.ok(tags.every((tag) => de55Tags.has(tag)));
        } catch (error) {
          assert.ok(error instanceof EmvError, String(error));
          assert.doesNotMatch(error.message, /\d{6,}/);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
