// Keys of the HSM tests, a key table over them, and PIN blocks as a terminal makes them.
import assert from 'node:assert/strict';
import {
  aesWorkingKey,
  buildPinBlock,
  encryptDukptData,
  keyCheckValue,
  openPinBlock,
  type PinBlockFormat,
  readKsn,
  readPinBlock,
  sealPinBlock,
  tdesWorkingKey,
} from '@switchyard/pin';
import {
  HsmError,
  type HsmErrorCode,
  type KeyUsage,
  type PinTranslationRequest,
} from '../../../src/vault/hsm/hsm-types.ts';
import type { KeyEntry } from '../../../src/vault/hsm/key-table.ts';

export const testPan = '4012345678909';
export const longTestPan = '6205500000000000004';
export const tdesKsn = 'FFFF9876543210E00001';
export const aesKsn = '123456789012345600000001';

export const testKeys = {
  'bdk-tdes': ['BaseDerivation', 'Tdes', '0123456789ABCDEFFEDCBA9876543210'],
  'bdk-aes': ['BaseDerivation', 'Aes', 'FEDCBA9876543210F1F1F1F1F1F1F1F1'],
  'bdk-aes-long': [
    'BaseDerivation',
    'Aes',
    'FEDCBA9876543210F1F1F1F1F1F1F1F1FEDCBA9876543210F1F1F1F1F1F1F1F1',
  ],
  zmk: ['KeyEncryption', 'Tdes', '89B0B5BC4C8F3E1CA1B2C3D4E5F60798'],
  tpk: ['TerminalPin', 'Tdes', '1C2C3C4C5C6C7C8C9DADBDCDDDEDFD0D'],
  zpk: ['ZonePin', 'Tdes', 'AB1234567890CDEF1122334455667788'],
  'zpk-other': ['ZonePin', 'Tdes', '76543210FEDCBA98ABCDEF0123456789'],
  'zpk-aes': ['ZonePin', 'Aes', 'C1D0F8FB4958670DBA40AB1F3752EF0D'],
  mac: ['Mac', 'Tdes', '4C5D6E7F8091A2B3C4D5E6F708192A3B'],
  'mac-aes': ['Mac', 'Aes', '2B7E151628AED2A6ABF7158809CF4F3C'],
} as const;

export type TestKeyName = keyof typeof testKeys;

export const keyBytes = (name: TestKeyName): Buffer => Buffer.from(testKeys[name][2], 'hex');

const devices: Readonly<Record<string, readonly string[]>> = {
  'bdk-tdes': ['FFFF98765432'],
  'bdk-aes': ['12345678'],
};

/** The table entry of a key, for an HSM that names the key `reference`. */
export function keyTableEntry(name: TestKeyName, reference: string, checkValue?: string): KeyEntry {
  const [usage, algorithm] = testKeys[name];
  return {
    name,
    usage: usage satisfies KeyUsage,
    algorithm,
    reference,
    checkValue: checkValue ?? keyCheckValue(keyBytes(name), algorithm),
    devices: devices[name] ?? [],
  };
}

export const toHex = (data: Uint8Array): string => Buffer.from(data).toString('hex').toUpperCase();

function pinKeyOf(ksn: string): Buffer {
  const read = readKsn(ksn);
  return read.scheme === 'DukptAes'
    ? aesWorkingKey(keyBytes('bdk-aes'), read, 'pin')
    : tdesWorkingKey(keyBytes('bdk-tdes'), read, 'pin');
}

const digitsOf = (pin: string) => [...pin].map(Number);

/** A PIN block as a PIN pad sends it. */
export const terminalPinBlock = (
  format: PinBlockFormat,
  ksn: string,
  pin = '1234',
  card = testPan,
): string =>
  toHex(sealPinBlock(format, pinKeyOf(ksn), buildPinBlock(format, digitsOf(pin), card), card));

/** A PIN block under one of the keys above. */
export const pinBlockUnderKey = (name: TestKeyName, format: PinBlockFormat, pin = '1234'): string =>
  toHex(
    sealPinBlock(format, keyBytes(name), buildPinBlock(format, digitsOf(pin), testPan), testPan),
  );

/** The PIN in a block under one of the keys above. */
export const decryptPin = (
  block: string,
  name: TestKeyName,
  format: PinBlockFormat,
  card = testPan,
): string =>
  readPinBlock(
    format,
    openPinBlock(format, keyBytes(name), Buffer.from(block, 'hex'), card),
    card,
  ).join('');

/** Track data as an encrypting card reader sends it. */
export const encryptTerminalData = (ksn: string, data: Buffer): string =>
  toHex(
    encryptDukptData({
      baseKey: keyBytes(readKsn(ksn).scheme === 'DukptAes' ? 'bdk-aes' : 'bdk-tdes'),
      ksn,
      data,
    }),
  );

/** The PIN 1234 under DUKPT, for the zone key of the acquirer. */
export const pinRequest: PinTranslationRequest = {
  scheme: 'DukptTdes',
  ksn: tdesKsn,
  inFormat: 0,
  pinBlock: terminalPinBlock('ISO0', tdesKsn),
  pan: testPan,
  outKeyRef: 'zpk',
  outFormat: 0,
};

/** For `assert.rejects`: a refusal with this code, whose message repeats nothing of the request. */
export const refused = (code: HsmErrorCode) => (error: unknown) => {
  assert.ok(error instanceof HsmError, String(error));
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(error.message, /\d{4}|[0-9A-F]{12}/);
  return true;
};
