/** PIN translation: from the key of a terminal to the key of an acquirer, the PIN never outside. */
import { randomBytes } from 'node:crypto';
import { aesWorkingKey, cipherOf, type WorkingAlgorithm, workingAlgorithmOf } from './aes-dukpt.ts';
import type { DukptKeys } from './dukpt-key-cache.ts';
import { PinError } from './errors.ts';
import { type KeySerialNumber, readKsn } from './ksn.ts';
import {
  buildPinBlock,
  type Format4Pan,
  openPinBlock,
  type PinBlockFormat,
  type RandomBytes,
  readPinBlock,
  sealPinBlock,
} from './pin-block.ts';
import { tdesWorkingKey } from './tdes-dukpt.ts';

/**
 * The key that encrypts a block: the one-time key of a terminal, or a key that two parties share.
 *
 * @example
 * const from: PinKey = { scheme: 'Dukpt', baseKey, ksn: 'FFFF9876543210E00001' };
 */
export type PinKey =
  | {
      readonly scheme: 'Dukpt';
      readonly baseKey: Uint8Array;
      readonly ksn: string;
      /** Of the working key; left out: the strongest that the base key may derive. */
      readonly algorithm?: WorkingAlgorithm;
    }
  /** The same for devices that come again and again. */
  | { readonly scheme: 'Dukpt'; readonly keys: DukptKeys; readonly ksn: string }
  | { readonly scheme: 'Zone'; readonly key: Uint8Array };

/**
 * One translation.
 *
 * @example
 * const request: PinTranslation = { block, format: 'ISO0', under: from, pan, to: { format: 'ISO0', key } };
 */
export type PinTranslation = {
  /** 8 bytes, of format 4 16. */
  readonly block: Uint8Array;
  readonly format: PinBlockFormat;
  readonly under: PinKey;
  /** The card number that the PIN belongs to, in both blocks: it may not change on the way. */
  readonly pan: string;
  /** The acquirer's format and zone key. */
  readonly to: { readonly format: PinBlockFormat; readonly key: Uint8Array };
  readonly random?: RandomBytes;
  /** How format 4 takes the card number in, on both sides; all of it where nothing is said. */
  readonly format4Pan?: Format4Pan;
};

/**
 * Whether PCI PIN Security 3.1, requirement 3-3, allows a translation from one format to the other:
 * a format that binds the card number must not become one that does not.
 *
 * @example
 * mayTranslate('ISO4', 'ISO1'); // false
 */
export function isTranslationAllowed(from: PinBlockFormat, to: PinBlockFormat): boolean {
  return from === 'ISO1' || to !== 'ISO1';
}

type DukptKey = Exclude<PinKey, { scheme: 'Zone' }>;

const algorithmUnder = (under: DukptKey, { scheme }: KeySerialNumber): WorkingAlgorithm =>
  'keys' in under
    ? under.keys.algorithm
    : workingAlgorithmOf(under.baseKey, scheme, under.algorithm);

function pinKeyOf(under: DukptKey, ksn: KeySerialNumber, algorithm: WorkingAlgorithm): Buffer {
  if ('keys' in under) return under.keys.workingKey(ksn, 'pin');
  return ksn.scheme === 'DukptAes'
    ? aesWorkingKey(under.baseKey, ksn, 'pin', algorithm)
    : tdesWorkingKey(under.baseKey, ksn, 'pin');
}

function withOpeningKey<Result>(
  { format, under }: PinTranslation,
  use: (key: Uint8Array) => Result,
): Result {
  if (under.scheme === 'Zone') return use(under.key);
  const ksn = readKsn(under.ksn);
  const algorithm = algorithmUnder(under, ksn);
  // Format 4 is encrypted with AES, the others with TDES.
  if ((format === 'ISO4') !== (cipherOf(algorithm) === 'aes')) {
    throw new PinError('format_not_allowed');
  }
  const key = pinKeyOf(under, ksn, algorithm);
  try {
    return use(key);
  } finally {
    key.fill(0);
  }
}

/**
 * Translates a PIN block: opens it, checks it, builds the other and seals that. Keys and digits are
 * overwritten before the answer is given, after a fault too.
 *
 * @returns the block under the zone key: 8 bytes, of format 4 16
 * @throws PinError `format_not_allowed` before anything is decrypted; `ksn_invalid`, `key_invalid`,
 *   `pan_invalid`; `pin_block_invalid` for every fault of the block
 * @example
 * const de52 = translatePin({
 *   block: Buffer.from('1B9C1845EB993A7A', 'hex'),
 *   format: 'ISO0',
 *   under: { scheme: 'Dukpt', baseKey, ksn: 'FFFF9876543210E00001' },
 *   pan,
 *   to: { format: 'ISO0', key: zoneKey },
 * });
 */
export function translatePin(request: PinTranslation): Buffer {
  const { format, pan, to, random = randomBytes, format4Pan = 'Full' } = request;
  if (!isTranslationAllowed(format, to.format)) throw new PinError('format_not_allowed');
  return withOpeningKey(request, (key) => {
    const opened = openPinBlock(format, key, request.block, pan, format4Pan);
    try {
      const digits = readPinBlock(format, opened, pan);
      const clear = buildPinBlock(to.format, digits, pan, random);
      digits.fill(0);
      const sealed = sealPinBlock(to.format, to.key, clear, pan, format4Pan);
      clear.fill(0);
      return sealed;
    } finally {
      opened.fill(0);
    }
  });
}
