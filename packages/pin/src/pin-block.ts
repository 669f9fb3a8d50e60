/** PIN blocks of ISO 9564-1, formats 0, 1, 3 and 4: digits in, one clear block out, and back. */
import { randomBytes } from 'node:crypto';
import { aesDecrypt, aesEncrypt, tdesDecrypt, tdesEncrypt, xor } from './block-ciphers.ts';
import { PinError } from './errors.ts';

/**
 * The formats that may travel.
 *
 * @example
 * pinBlockFormats.includes('ISO4'); // true
 */
export const pinBlockFormats = ['ISO0', 'ISO1', 'ISO3', 'ISO4'] as const;

/**
 * A format of ISO 9564-1 by its number. 0, 1 and 3 are 8 bytes under TDES, 4 is 16 bytes under AES;
 * all but 1 bind the card number.
 *
 * @example
 * const format: PinBlockFormat = 'ISO4';
 */
export type PinBlockFormat = (typeof pinBlockFormats)[number];

/**
 * Where fill comes from: so many random bytes.
 *
 * @example
 * const random: RandomBytes = (size) => randomBytes(size);
 */
export type RandomBytes = (size: number) => Uint8Array;

const pinLengthLeast = 4;
const pinLengthMost = 12;
const fillOf = { ISO0: 0xf, ISO4: 0xa } as const;
const controlOf = { ISO0: 0, ISO1: 1, ISO3: 3, ISO4: 4 } as const;

/** The PIN part is 16 nibbles in every format; format 4 puts 8 random bytes behind them. */
const nibbleCount = 16;

const isDigit = (nibble: number): boolean => Number.isInteger(nibble) && nibble >= 0 && nibble <= 9;

function readPan(pan: string | undefined): string {
  if (pan === undefined || !/^[0-9]{8,19}$/.test(pan)) throw new PinError('pan_invalid');
  return pan;
}

/** Zeros, then the twelve digits left of the check digit. */
function shortPanField(pan: string | undefined): Buffer {
  const twelve = readPan(pan).slice(0, -1).slice(-12).padStart(12, '0');
  return Buffer.from(`0000${twelve}`, 'hex');
}

/**
 * How format 4 takes the card number in: all of it, as ISO 9564-1 says, or the twelve digits left of
 * the check digit, as some modules and terminals do. Both sides of a block have to mean the same.
 *
 * @example
 * const rule: Format4Pan = 'Full';
 */
export type Format4Pan = 'Full' | 'TwelveDigits';

/** How many digits there are beyond twelve, then all of them (ISO 9564-1 9.4.3). */
function longPanField(pan: string | undefined, rule: Format4Pan): Buffer {
  const all = readPan(pan);
  const digits = (rule === 'Full' ? all : all.slice(0, -1).slice(-12)).padStart(12, '0');
  return Buffer.from(`${digits.length - 12}${digits}`.padEnd(32, '0'), 'hex');
}

/** One even choice of A to F from each byte; bytes that would make it uneven are thrown away. */
function lettersFrom(random: RandomBytes, count: number): number[] {
  const letters: number[] = [];
  while (letters.length < count) {
    for (const byte of random(count - letters.length)) {
      if (byte < 252) letters.push(0xa + (byte % 6));
    }
  }
  return letters;
}

function fillNibbles(format: PinBlockFormat, count: number, random: RandomBytes): number[] {
  if (format === 'ISO3') return lettersFrom(random, count);
  if (format === 'ISO1') return [...random(count)].map((byte) => byte & 0xf);
  return Array<number>(count).fill(fillOf[format]);
}

function packNibbles(nibbles: readonly number[]): Buffer {
  const packed = Buffer.alloc(nibbles.length / 2);
  for (let at = 0; at < packed.length; at += 1) {
    packed[at] = ((nibbles[at * 2] ?? 0) << 4) | (nibbles[at * 2 + 1] ?? 0);
  }
  return packed;
}

const nibbleAt = (bytes: Uint8Array, at: number): number => {
  const byte = bytes[at >> 1] ?? 0;
  return at % 2 === 0 ? byte >> 4 : byte & 0xf;
};

/**
 * Builds a clear block, as a terminal does before it encrypts. Of format 4 it is the PIN field
 * alone: the card number comes in while it is encrypted.
 *
 * @param format - one of {@link pinBlockFormats}
 * @param digits - of the PIN, 4 to 12 numbers from 0 to 9
 * @param pan - the card number, which formats 0 and 3 bind here
 * @param random - for the fill of formats 1, 3 and 4
 * @throws PinError `pin_invalid`, `pan_invalid`
 * @example
 * buildPinBlock('ISO0', [1, 2, 3, 4], '5555555551234567').toString('hex'); // '041261aaaaedcba9'
 */
export function buildPinBlock(
  format: PinBlockFormat,
  digits: ArrayLike<number>,
  pan?: string,
  random: RandomBytes = randomBytes,
): Buffer {
  const pin = Array.from(digits);
  if (pin.length < pinLengthLeast || pin.length > pinLengthMost || !pin.every(isDigit)) {
    throw new PinError('pin_invalid');
  }
  const head = [controlOf[format], pin.length, ...pin];
  const field = packNibbles([...head, ...fillNibbles(format, nibbleCount - head.length, random)]);
  if (format === 'ISO1') return field;
  if (format === 'ISO4') return Buffer.concat([field, random(8)]);
  return xor(field, shortPanField(pan));
}

const fitsFill: Readonly<Record<PinBlockFormat, (nibble: number) => boolean>> = {
  ISO0: (nibble) => nibble === fillOf.ISO0,
  ISO1: () => true,
  ISO3: (nibble) => nibble >= 0xa,
  ISO4: (nibble) => nibble === fillOf.ISO4,
};

/**
 * Reads the digits of a clear block. Every fault is the same one, found after all of the block was
 * looked at: the failed check would give an attacker information about the PIN.
 *
 * @param format - what the block is said to be
 * @param block - 8 bytes, of format 4 16
 * @param pan - the card number, which formats 0 and 3 need
 * @returns the digits, for the caller to overwrite as soon as it can
 * @throws PinError `pin_block_invalid`, `pan_invalid`
 * @example
 * readPinBlock('ISO0', Buffer.from('041261AAAAEDCBA9', 'hex'), '5555555551234567'); // 1, 2, 3, 4
 */
export function readPinBlock(format: PinBlockFormat, block: Uint8Array, pan?: string): Uint8Array {
  if (block.length !== (format === 'ISO4' ? 16 : 8)) throw new PinError('pin_block_invalid');
  const binds = format === 'ISO0' || format === 'ISO3';
  const field = binds ? xor(block, shortPanField(pan)) : Buffer.from(block.subarray(0, 8));
  const length = nibbleAt(field, 1);
  let good = nibbleAt(field, 0) === controlOf[format];
  good = length >= pinLengthLeast && length <= pinLengthMost && good;
  const digits = new Uint8Array(good ? length : 0);
  for (let at = 2; at < nibbleCount; at += 1) {
    const nibble = nibbleAt(field, at);
    const fits = at - 2 < length ? isDigit(nibble) : fitsFill[format](nibble);
    good = fits && good;
    if (at - 2 < digits.length) digits[at - 2] = nibble;
  }
  field.fill(0);
  if (good) return digits;
  digits.fill(0);
  throw new PinError('pin_block_invalid');
}

/**
 * Encrypts a clear block: 8 bytes under TDES; of format 4 the PIN field under AES, the card number
 * mixed in, and under AES again (ISO 9564-1 9.4.2).
 *
 * @param format - of the block
 * @param key - 16 or 24 bytes for TDES; 16, 24 or 32 for AES
 * @param clear - what {@link buildPinBlock} made
 * @param pan - the card number, which format 4 binds here
 * @param format4Pan - how much of it
 * @throws PinError `key_invalid`, `pan_invalid`
 * @example
 * sealPinBlock('ISO4', pinKey, buildPinBlock('ISO4', [1, 2, 3, 4]), '4111111111111111');
 */
export function sealPinBlock(
  format: PinBlockFormat,
  key: Uint8Array,
  clear: Uint8Array,
  pan?: string,
  format4Pan: Format4Pan = 'Full',
): Buffer {
  if (format !== 'ISO4') return tdesEncrypt(key, clear);
  return aesEncrypt(key, xor(aesEncrypt(key, clear), longPanField(pan, format4Pan)));
}

/**
 * Decrypts a block, without a look at what comes out: {@link readPinBlock} judges that.
 *
 * @param format - of the block
 * @param key - 16 or 24 bytes for TDES; 16, 24 or 32 for AES
 * @param sealed - 8 bytes, of format 4 16
 * @param pan - the card number, which format 4 binds here
 * @param format4Pan - how much of it
 * @throws PinError `pin_block_invalid`: another length; `key_invalid`, `pan_invalid`
 * @example
 * readPinBlock('ISO4', openPinBlock('ISO4', pinKey, sealed, pan));
 */
export function openPinBlock(
  format: PinBlockFormat,
  key: Uint8Array,
  sealed: Uint8Array,
  pan?: string,
  format4Pan: Format4Pan = 'Full',
): Buffer {
  if (sealed.length !== (format === 'ISO4' ? 16 : 8)) throw new PinError('pin_block_invalid');
  if (format !== 'ISO4') return tdesDecrypt(key, sealed);
  const mixed = xor(aesDecrypt(key, sealed), longPanField(pan, format4Pan));
  return aesDecrypt(key, mixed);
}
