/** Keys of TDES DUKPT (ANSI X9.24-1:2009): from the base key to the key of one transaction. */
import { desEncrypt, tdesEncrypt, xor } from './block-ciphers.ts';
import { PinError } from './errors.ts';
import type { KeySerialNumber } from './ksn.ts';

const variant = (hex: string): Uint8Array => Buffer.from(hex.repeat(2), 'hex');

const keyMask = variant('C0C0C0C000000000');
const highestCounterBit = 0x10_0000;

/** Which key of the transaction is wanted, and by which mask it is made (X9.24-1:2009 A.4.1). */
const masks = {
  pin: variant('00000000000000FF'),
  macRequest: variant('000000000000FF00'),
  macResponse: variant('00000000FF000000'),
  dataRequest: variant('0000000000FF0000'),
  dataResponse: variant('000000FF00000000'),
} as const;

/**
 * The purpose of a transaction key.
 *
 * @example
 * const purpose: TdesPurpose = 'pin';
 */
export type TdesPurpose = keyof typeof masks;

function requireDoubleLengthKey(key: Uint8Array): void {
  if (key.length !== 16) throw new PinError('key_invalid');
}

/**
 * The initial key of a device (IPEK), which is loaded into it once.
 *
 * @param baseKey - the base derivation key, 16 bytes
 * @param ksn - of the device; its counter does not matter
 * @throws PinError `key_invalid`, `ksn_invalid`
 * @example
 * tdesInitialKey(baseKey, readKsn('FFFF9876543210E00001'));
 */
export function tdesInitialKey(baseKey: Uint8Array, ksn: KeySerialNumber): Buffer {
  requireDoubleLengthKey(baseKey);
  if (ksn.scheme !== 'DukptTdes') throw new PinError('ksn_invalid');
  const register = Buffer.from(ksn.bytes.subarray(0, 8));
  register[7] = (register[7] ?? 0) & 0xe0;
  const masked = xor(baseKey, keyMask);
  const initial = Buffer.concat([tdesEncrypt(baseKey, register), tdesEncrypt(masked, register)]);
  masked.fill(0);
  return initial;
}

/** The step that cannot be gone back (X9.24-1:2009 A.3): one half of the next key. */
function half(key: Uint8Array, register: Uint8Array): Buffer {
  const right = key.subarray(8, 16);
  return xor(desEncrypt(key.subarray(0, 8), xor(register, right)), right);
}

/**
 * The key of one transaction, before it is varied for a purpose.
 *
 * @param initialKey - of the device, 16 bytes
 * @param ksn - with the counter of the transaction
 * @throws PinError `key_invalid`, `ksn_invalid`
 * @example
 * tdesTransactionKey(tdesInitialKey(baseKey, ksn), ksn);
 */
export function tdesTransactionKey(initialKey: Uint8Array, ksn: KeySerialNumber): Buffer {
  requireDoubleLengthKey(initialKey);
  if (ksn.scheme !== 'DukptTdes') throw new PinError('ksn_invalid');
  let counted = 0;
  let key: Buffer = Buffer.from(initialKey);
  for (let bit = highestCounterBit; bit !== 0; bit >>>= 1) {
    if ((ksn.counter & bit) === 0) continue;
    counted |= bit;
    const next = tdesStep(key, ksn, counted);
    key.fill(0);
    key = next;
  }
  return key;
}

/** From the key of fewer counter bits to that of one more; `counted` holds the new bit. */
export function tdesStep(key: Uint8Array, ksn: KeySerialNumber, counted: number): Buffer {
  const register = Buffer.from(ksn.bytes.subarray(2, 10));
  const fixed = (register.readUInt32BE(4) & ~0x1f_ffff) >>> 0;
  register.writeUInt32BE((fixed | counted) >>> 0, 4);
  const masked = xor(key, keyMask);
  const next = Buffer.concat([half(masked, register), half(key, register)]);
  masked.fill(0);
  return next;
}

/**
 * The key of one transaction for one purpose. A key for data is encrypted under itself once more
 * (X9.24-1:2009 A.4.1), so that it does not give the others away.
 *
 * @param baseKey - the base derivation key, 16 bytes
 * @param ksn - with the counter of the transaction
 * @param purpose - which of the five keys
 * @throws PinError `key_invalid`, `ksn_invalid`
 * @example
 * const pinKey = tdesWorkingKey(baseKey, readKsn('FFFF9876543210E00001'), 'pin');
 */
export function tdesWorkingKey(
  baseKey: Uint8Array,
  ksn: KeySerialNumber,
  purpose: TdesPurpose,
): Buffer {
  const initial = tdesInitialKey(baseKey, ksn);
  const transaction = tdesTransactionKey(initial, ksn);
  const working = tdesVaried(transaction, purpose);
  initial.fill(0);
  transaction.fill(0);
  return working;
}

/** The key for one purpose out of the key of a transaction. */
export function tdesVaried(transaction: Uint8Array, purpose: TdesPurpose): Buffer {
  const varied = xor(transaction, masks[purpose]);
  if (purpose !== 'dataRequest' && purpose !== 'dataResponse') return varied;
  const once = tdesEncrypt(varied, varied);
  varied.fill(0);
  return once;
}
