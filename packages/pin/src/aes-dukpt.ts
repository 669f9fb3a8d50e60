/** Keys of AES DUKPT (ANSI X9.24-3:2017): one derivation function for every key. */
import { aesEncrypt } from './block-ciphers.ts';
import { PinError } from './errors.ts';
import type { KeySerialNumber } from './ksn.ts';

/** Key usage indicators (X9.24-3:2017 table 2). */
const usages = {
  initial: 0x8001,
  derivation: 0x8000,
  pin: 0x1000,
  macGenerate: 0x2000,
  macVerify: 0x2001,
  macBoth: 0x2002,
  dataEncrypt: 0x3000,
  dataDecrypt: 0x3001,
  dataBoth: 0x3002,
  keyEncryption: 0x0002,
} as const;

/** Algorithm indicators and key lengths in bits (X9.24-3:2017 table 3). */
const algorithms = {
  tdes2: { indicator: 0, bits: 128, strength: 80 },
  tdes3: { indicator: 1, bits: 192, strength: 112 },
  aes128: { indicator: 2, bits: 128, strength: 128 },
  aes192: { indicator: 3, bits: 192, strength: 192 },
  aes256: { indicator: 4, bits: 256, strength: 256 },
} as const;

/**
 * The purpose of a working key.
 *
 * @example
 * const purpose: AesPurpose = 'dataEncrypt';
 */
export type AesPurpose = Exclude<keyof typeof usages, 'initial' | 'derivation'>;

/**
 * The algorithm of a working key.
 *
 * @example
 * const algorithm: WorkingAlgorithm = 'aes128';
 */
export type WorkingAlgorithm = keyof typeof algorithms;

type DerivationRequest = {
  readonly usage: keyof typeof usages;
  readonly algorithm: WorkingAlgorithm;
  /** Eight bytes of the key serial number. */
  readonly keyData: Uint8Array;
};

const blockBytes = 16;

function algorithmOf(key: Uint8Array): WorkingAlgorithm {
  if (key.length === 16) return 'aes128';
  if (key.length === 24) return 'aes192';
  if (key.length === 32) return 'aes256';
  throw new PinError('key_invalid');
}

/**
 * The algorithm of the working keys of a device; left out, the strongest that its base key may derive.
 *
 * @param baseKey - the base derivation key, 16, 24 or 32 bytes of AES; of TDES it derives two-key TDES alone
 * @throws PinError `key_invalid` where the working key would be stronger than the base key
 *   (X9.24-3:2017 6.1)
 * @example
 * workingAlgorithmOf(baseKey, 'DukptAes', 'aes128');
 */
export function workingAlgorithmOf(
  baseKey: Uint8Array,
  scheme: KeySerialNumber['scheme'],
  algorithm?: WorkingAlgorithm,
): WorkingAlgorithm {
  const strongest = scheme === 'DukptAes' ? algorithmOf(baseKey) : 'tdes2';
  const working = algorithm ?? strongest;
  if (algorithms[working].strength > algorithms[strongest].strength) {
    throw new PinError('key_invalid');
  }
  return working;
}

/** The block cipher that a working key is for. */
export const cipherOf = (algorithm: WorkingAlgorithm): 'tdes' | 'aes' =>
  algorithm.startsWith('aes') ? 'aes' : 'tdes';

/** The derivation data of X9.24-3:2017 6.2, encrypted block by block under the key above. */
function derive(key: Uint8Array, { usage, algorithm, keyData }: DerivationRequest): Buffer {
  const { indicator, bits } = algorithms[algorithm];
  const blocks = Math.ceil(bits / 8 / blockBytes);
  const data = Buffer.alloc(blocks * blockBytes);
  for (let block = 0; block < blocks; block += 1) {
    const at = block * blockBytes;
    data[at] = 1;
    data[at + 1] = block + 1;
    data.writeUInt16BE(usages[usage], at + 2);
    data.writeUInt16BE(indicator, at + 4);
    data.writeUInt16BE(bits, at + 6);
    data.set(keyData, at + 8);
  }
  return aesEncrypt(key, data).subarray(0, bits / 8);
}

/**
 * The initial key of a device.
 *
 * @param baseKey - the base derivation key, 16, 24 or 32 bytes
 * @param ksn - of the device; its counter does not matter
 * @throws PinError `key_invalid`, `ksn_invalid`
 * @example
 * aesInitialKey(baseKey, readKsn('123456789012345600000001'));
 */
export function aesInitialKey(baseKey: Uint8Array, ksn: KeySerialNumber): Buffer {
  if (ksn.scheme !== 'DukptAes') throw new PinError('ksn_invalid');
  const algorithm = algorithmOf(baseKey);
  return derive(baseKey, { usage: 'initial', algorithm, keyData: ksn.bytes.subarray(0, 8) });
}

/**
 * The key that the working keys of one transaction come from.
 *
 * @param initialKey - of the device
 * @param ksn - with the counter of the transaction
 * @throws PinError `key_invalid`, `ksn_invalid`
 * @example
 * aesTransactionKey(aesInitialKey(baseKey, ksn), ksn);
 */
export function aesTransactionKey(initialKey: Uint8Array, ksn: KeySerialNumber): Buffer {
  if (ksn.scheme !== 'DukptAes') throw new PinError('ksn_invalid');
  let counted = 0;
  let key: Buffer = Buffer.from(initialKey);
  for (let bit = 0x8000_0000; bit !== 0; bit >>>= 1) {
    if ((ksn.counter & bit) === 0) continue;
    counted = (counted | bit) >>> 0;
    const next = aesStep(key, ksn, counted);
    key.fill(0);
    key = next;
  }
  return key;
}

/** From the key of fewer counter bits to that of one more; `counted` holds the new bit. */
export function aesStep(key: Uint8Array, ksn: KeySerialNumber, counted: number): Buffer {
  const keyData = Buffer.from(ksn.bytes.subarray(4, 12));
  keyData.writeUInt32BE(counted, 4);
  return derive(key, { usage: 'derivation', algorithm: algorithmOf(key), keyData });
}

/**
 * A working key of one transaction.
 *
 * @param baseKey - the base derivation key, 16, 24 or 32 bytes
 * @param ksn - with the counter of the transaction
 * @param purpose - what the key is for
 * @param algorithm - what it is used with; left out: AES of the length of the base key
 * @throws PinError `key_invalid`: also where the working key would be stronger than the base key
 *   (X9.24-3:2017 6.1); `ksn_invalid`
 * @example
 * const pinKey = aesWorkingKey(baseKey, readKsn('123456789012345600000001'), 'pin');
 */
export function aesWorkingKey(
  baseKey: Uint8Array,
  ksn: KeySerialNumber,
  purpose: AesPurpose,
  algorithm?: WorkingAlgorithm,
): Buffer {
  const working = workingAlgorithmOf(baseKey, 'DukptAes', algorithm);
  const initial = aesInitialKey(baseKey, ksn);
  const transaction = aesTransactionKey(initial, ksn);
  const key = aesKeyVariant(transaction, ksn, purpose, working);
  initial.fill(0);
  transaction.fill(0);
  return key;
}

/** The key for one purpose out of the key of a transaction. */
export function aesKeyVariant(
  transaction: Uint8Array,
  ksn: KeySerialNumber,
  purpose: AesPurpose,
  algorithm: WorkingAlgorithm,
): Buffer {
  return derive(transaction, { usage: purpose, algorithm, keyData: ksn.bytes.subarray(4, 12) });
}
