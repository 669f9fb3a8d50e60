// The PIN pad: one DUKPT key for each transaction, PIN blocks, and encrypted card data.
import { createHmac } from 'node:crypto';
import {
  buildPinBlock,
  encryptDukptData,
  readKsn,
  sealPinBlock,
  tdesWorkingKey,
} from '@switchyard/pin';
import type { TestCard } from './test-cards.ts';

/**
 * The keys of a terminal. A real terminal holds derived keys; the simulator derives them from the base key.
 *
 * @example
 * const keys: PinPadKeys = { baseDerivationKey, ksn };
 */
export type PinPadKeys = {
  /** Hexadecimal. */
  readonly baseDerivationKey: string;
  /** The first key serial number, 20 hexadecimal digits. */
  readonly ksn: string;
};

/** The fields of a sale that contain a PIN. */
export type PinFields = {
  readonly ksn: string;
  readonly pinblock: string;
  readonly pinblockFormat: 'ISO0';
};

/** One transaction of the PIN pad: one key encrypts all its data. */
export type PinPadTransaction = {
  pin(digits: string, card: TestCard): PinFields;
  encrypt(
    kind: 'Track2' | 'Emv',
    data: Uint8Array,
  ): {
    readonly of: 'Track2' | 'Emv';
    readonly scheme: 'DukptTdes';
    readonly ksn: string;
    readonly data: string;
  };
};

export type PinPad = {
  /** Takes the next key: store {@link PinPad.counter} before using it. */
  next(): PinPadTransaction;
  counter(): number;
  /** Skips counters, because the platform saw a higher one: this terminal lost its counter. */
  skipAhead(): void;
  /** A keyed hash of an identifier that must not be stored: always the same, not predictable without the key. */
  pseudonymOf(text: string): string;
};

const counterMax = 0x1f_ffff;
/** Limit of one bits in a counter; a device skips other counters (ANSI X9.24-1:2009 A.2). */
const oneBitsMax = 10;
const blockBytes = 8;
const counterDigits = 6;
const nameDigits = 32;
/** Bits that bitwise operators of JavaScript use. */
const counterWord = 32;

function countOneBits(counter: number): number {
  return counter.toString(2).replaceAll('0', '').length;
}

/**
 * @param keys - of the terminal
 * @param last - the counter that was used last; 0 for a new terminal
 */
export function createPinPad(keys: PinPadKeys, last: number): PinPad {
  const baseKey = Buffer.from(keys.baseDerivationKey, 'hex');
  const first = readKsn(keys.ksn);
  if (first.scheme !== 'DukptTdes') throw new Error('the PIN pad supports TDES DUKPT keys only');
  const head = keys.ksn.slice(0, -counterDigits);
  // The highest hexadecimal digit of the counter also contains the last bits of the device identifier.
  const deviceBits = Number.parseInt(keys.ksn.slice(-counterDigits), 16) - first.counter;
  const nameKey = createHmac('sha256', baseKey).update('names of accounts').digest();
  let counter = Math.max(last, first.counter - 1);

  function advance(): string {
    do counter += 1;
    while (countOneBits(counter) > oneBitsMax);
    if (counter > counterMax) throw new Error('the terminal has used up its keys');
    return head + (deviceBits + counter).toString(16).toUpperCase().padStart(counterDigits, '0');
  }

  return {
    next() {
      const ksn = advance();
      return {
        pin(digits, { number }) {
          const key = tdesWorkingKey(baseKey, readKsn(ksn), 'pin');
          const clear = buildPinBlock('ISO0', [...digits].map(Number), number);
          const pinblock = sealPinBlock('ISO0', key, clear, number).toString('hex').toUpperCase();
          key.fill(0);
          clear.fill(0);
          return { ksn, pinblock, pinblockFormat: 'ISO0' };
        },
        encrypt(kind, data) {
          const rest = (blockBytes - (data.length % blockBytes)) % blockBytes;
          const whole = Buffer.concat([data, Buffer.alloc(rest)]);
          const sealed = encryptDukptData({ baseKey, ksn, data: whole });
          return { of: kind, scheme: 'DukptTdes', ksn, data: sealed.toString('hex').toUpperCase() };
        },
      };
    },
    counter: () => counter,
    skipAhead() {
      counter = 2 ** (counterWord - Math.clz32(counter + 1)) - 1;
    },
    pseudonymOf: (text) =>
      createHmac('sha256', nameKey).update(text).digest('hex').slice(0, nameDigits),
  };
}
