// Every published value: keys, blocks, translations, and what must be refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  type AesPurpose,
  aesInitialKey,
  aesTransactionKey,
  aesWorkingKey,
  buildPinBlock,
  isTranslationAllowed,
  openPinBlock,
  type PinBlockFormat,
  PinError,
  readKsn,
  readPinBlock,
  sealPinBlock,
  tdesInitialKey,
  tdesTransactionKey,
  tdesWorkingKey,
  translatePin,
  type WorkingAlgorithm,
} from './index.ts';

const workingAlgorithms = {
  '2TDEA': 'tdes2',
  '3TDEA': 'tdes3',
  'AES-128': 'aes128',
  'AES-192': 'aes192',
  'AES-256': 'aes256',
} as const satisfies Readonly<Record<string, WorkingAlgorithm>>;

const otherPurposes = [
  'macGenerate',
  'macVerify',
  'macBoth',
  'dataEncrypt',
  'dataDecrypt',
  'dataBoth',
  'keyEncryption',
] as const satisfies readonly AesPurpose[];

type Vector = Partial<Record<(typeof otherPurposes)[number], string>> & {
  id: string;
  kind: string;
  algo: string;
  bdk: string;
  ksn: string;
  initialKey?: string;
  transactionKey?: string;
  pinKey?: string;
  workingKey?: keyof typeof workingAlgorithms;
  pin: string;
  pan?: string;
  pinBlockFormat: string;
  clearPinBlock: string;
  encryptedPinBlock: string;
  fill?: string;
  random?: string;
  note?: string;
  incomingFormat: string;
  incomingPinBlock: string;
  zpk: string;
};

const file = new URL('../vectors/pin.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] };

const bytes = (hex: string) => Buffer.from(hex, 'hex');
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex').toUpperCase();
const of = (kind: string) => vectors.filter((vector) => vector.kind === kind);
const digitsOf = (pin: string) => [...pin].map(Number);
const formatOf = (name: string) => name.replace('ISO9564-', 'ISO') as PinBlockFormat;
const isAes = ({ algo }: Vector) => algo.startsWith('AES');

/** Of the working keys: as long as the base key where the vector names none. */
function algorithmOf(vector: Vector): WorkingAlgorithm {
  if (vector.workingKey !== undefined) return workingAlgorithms[vector.workingKey];
  return isAes(vector) ? (`aes${vector.bdk.length * 4}` as WorkingAlgorithm) : 'tdes2';
}
const refused = (code: string) => (error: unknown) =>
  error instanceof PinError && error.code === code && error.message === code;

/** The vector's own fill in place of chance: letters of format 3 come from bytes 0 to 5. */
function fillOf({ fill, random, pinBlockFormat, clearPinBlock }: Vector) {
  if (pinBlockFormat === 'ISO9564-4') return () => bytes(random ?? clearPinBlock.slice(16));
  const first = pinBlockFormat === 'ISO9564-3' ? 0xa : 0;
  const nibbles = [...(fill ?? '')].map((digit) => Number.parseInt(digit, 16) - first);
  return () => Uint8Array.from(nibbles);
}

describe('published PIN vectors', () => {
  it('are all here', () => {
    assert.equal(vectors.length, 47);
    const kinds = Object.fromEntries(vectors.map(({ kind }) => [kind, of(kind).length]));
    assert.deepEqual(kinds, {
      'dukpt-pin': 25,
      'pinblock-clear': 6,
      'pinblock-aes': 2,
      'pinblock-negative': 4,
      'ksn-negative': 2,
      translate: 7,
      'translate-negative': 1,
    });
  });

  for (const vector of of('dukpt-pin')) {
    it(`${vector.id} derives its keys and seals its block`, () => {
      const base = bytes(vector.bdk);
      const ksn = readKsn(vector.ksn);
      const aes = isAes(vector);
      const algorithm = algorithmOf(vector);
      const initial = aes ? aesInitialKey(base, ksn) : tdesInitialKey(base, ksn);
      const transaction = aes ? aesTransactionKey(initial, ksn) : tdesTransactionKey(initial, ksn);
      const pinKey = aes
        ? aesWorkingKey(base, ksn, 'pin', algorithm)
        : tdesWorkingKey(base, ksn, 'pin');
      if (vector.initialKey !== undefined) assert.equal(hex(initial), vector.initialKey);
      if (vector.transactionKey !== undefined) {
        assert.equal(hex(transaction), vector.transactionKey);
      }
      if (vector.pinKey !== undefined) assert.equal(hex(pinKey), vector.pinKey);
      for (const purpose of otherPurposes) {
        if (vector[purpose] === undefined) continue;
        assert.equal(hex(aesWorkingKey(base, ksn, purpose, algorithm)), vector[purpose], purpose);
      }
      const format = formatOf(vector.pinBlockFormat);
      const clear = buildPinBlock(format, digitsOf(vector.pin), vector.pan, fillOf(vector));
      assert.equal(hex(clear), vector.clearPinBlock);
      const sealed = sealPinBlock(format, pinKey, clear, vector.pan);
      assert.equal(hex(sealed), vector.encryptedPinBlock);
      const opened = openPinBlock(format, pinKey, sealed, vector.pan);
      assert.deepEqual([...readPinBlock(format, opened, vector.pan)], digitsOf(vector.pin));
    });
  }

  for (const vector of of('pinblock-clear')) {
    it(`${vector.id} reads${vector.note === undefined ? ' and builds' : ''}`, () => {
      const format = formatOf(vector.pinBlockFormat);
      const pan = vector.pan ?? undefined;
      const block = bytes(vector.clearPinBlock);
      assert.deepEqual([...readPinBlock(format, block, pan)], digitsOf(vector.pin));
      if (vector.note?.startsWith('decode only') === true) return;
      assert.equal(
        hex(buildPinBlock(format, digitsOf(vector.pin), pan, fillOf(vector))),
        vector.clearPinBlock,
      );
    });
  }

  for (const vector of of('pinblock-aes')) {
    it(`${vector.id} seals and opens`, () => {
      const key = bytes(vector.pinKey ?? '');
      const clear = buildPinBlock('ISO4', digitsOf(vector.pin), vector.pan, fillOf(vector));
      assert.equal(hex(clear), vector.clearPinBlock);
      assert.equal(hex(sealPinBlock('ISO4', key, clear, vector.pan)), vector.encryptedPinBlock);
    });
  }

  for (const vector of of('pinblock-negative')) {
    it(`${vector.id} is refused`, () => {
      const format = formatOf(vector.pinBlockFormat);
      const block =
        vector.encryptedPinBlock === null || vector.pinKey === undefined
          ? bytes(vector.clearPinBlock)
          : openPinBlock(format, bytes(vector.pinKey), bytes(vector.encryptedPinBlock), vector.pan);
      assert.equal(hex(block), vector.clearPinBlock);
      assert.throws(() => readPinBlock(format, block, vector.pan), refused('pin_block_invalid'));
    });
  }

  for (const vector of of('ksn-negative')) {
    it(`${vector.id} is refused`, () => {
      assert.throws(() => readKsn(vector.ksn), refused('ksn_invalid'));
    });
  }

  for (const vector of of('translate')) {
    it(`${vector.id} translates`, () => {
      const to = { format: formatOf(vector.pinBlockFormat), key: bytes(vector.zpk) };
      const translated = translatePin({
        block: bytes(vector.incomingPinBlock),
        format: formatOf(vector.incomingFormat),
        under: {
          scheme: 'Dukpt',
          baseKey: bytes(vector.bdk),
          ksn: vector.ksn,
          algorithm: algorithmOf(vector),
        },
        pan: vector.pan ?? '',
        to,
        random: fillOf(vector),
      });
      assert.equal(hex(translated), vector.encryptedPinBlock);
      const opened = openPinBlock(to.format, to.key, translated, vector.pan);
      assert.equal(hex(opened), vector.clearPinBlock);
    });
  }

  it('PIN-X05: a format bound to the card number is not translated to an unbound format', () => {
    const formats = ['ISO0', 'ISO1', 'ISO3', 'ISO4'] as const;
    const refusedPairs = formats.flatMap((from) =>
      formats.filter((to) => !isTranslationAllowed(from, to)).map((to) => `${from} ${to}`),
    );
    assert.deepEqual(refusedPairs, ['ISO0 ISO1', 'ISO3 ISO1', 'ISO4 ISO1']);
  });
});
