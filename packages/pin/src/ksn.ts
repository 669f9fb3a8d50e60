/** Key serial numbers: which key of which device a block was made with. */
import { PinError } from './errors.ts';

/**
 * A key serial number, taken apart.
 *
 * @example
 * const ksn: KeySerialNumber = readKsn('FFFF9876543210E00001');
 */
export type KeySerialNumber = {
  /** `DukptTdes` of 10 bytes (ANSI X9.24-1), `DukptAes` of 12 bytes (ANSI X9.24-3). */
  readonly scheme: 'DukptTdes' | 'DukptAes';
  readonly bytes: Uint8Array;
  /** All but the counter, in upper-case hexadecimal: one device under one base key. */
  readonly device: string;
  /** Of the transaction: a device only ever counts up. */
  readonly counter: number;
};

const tdesCounterBits = 0x1f_ffff;
/** Limit of one bits in a counter of a device. */
const onesMost = { DukptTdes: 10, DukptAes: 16 } as const;

function onesOf(counter: number): number {
  let ones = 0;
  for (let rest = counter >>> 0; rest !== 0; rest = (rest & (rest - 1)) >>> 0) ones += 1;
  return ones;
}

function requireCounter(scheme: KeySerialNumber['scheme'], counter: number): void {
  if (counter === 0 || onesOf(counter) > onesMost[scheme]) throw new PinError('ksn_invalid');
}

/**
 * Reads a key serial number: 20 hexadecimal digits are TDES DUKPT (16 are too: some terminals leave
 * the leading FFFF away), 24 are AES DUKPT.
 *
 * @param text - hexadecimal, either case
 * @throws PinError `ksn_invalid`: another length, a counter of zero, or more than 10 (TDES) or 16
 *   (AES) one-bits in it, which no device produces (ANSI X9.24-1:2009 A.2, X9.24-3:2017 6.3)
 * @example
 * readKsn('123456789012345600000001').counter; // 1
 */
export function readKsn(text: string): KeySerialNumber {
  const whole = text.length === 16 ? `FFFF${text}` : text;
  if (!/^(?:[0-9A-Fa-f]{20}|[0-9A-Fa-f]{24})$/.test(whole)) throw new PinError('ksn_invalid');
  const bytes = Buffer.from(whole, 'hex');
  const last = bytes.readUInt32BE(bytes.length - 4);
  if (bytes.length === 12) {
    requireCounter('DukptAes', last);
    const device = bytes.toString('hex', 0, 8).toUpperCase();
    return { scheme: 'DukptAes', bytes, device, counter: last };
  }
  const counter = last & tdesCounterBits;
  requireCounter('DukptTdes', counter);
  const cleared = Buffer.from(bytes);
  cleared.writeUInt32BE((last & ~tdesCounterBits) >>> 0, 6);
  return {
    scheme: 'DukptTdes',
    bytes,
    device: cleared.toString('hex').toUpperCase(),
    counter,
  };
}
