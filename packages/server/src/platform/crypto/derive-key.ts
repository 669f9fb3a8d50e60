// Derives a separate key for each purpose from the master key.
import { hkdfSync } from 'node:crypto';

const keyBytes = 32;
/** Separates these keys from other keys that are derived from the same master key. */
const salt = 'switchyard';

/** HKDF-SHA256 (RFC 5869). The same master key and purpose always give the same key. */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  if (master.length !== keyBytes) throw new RangeError(`a master key has ${keyBytes} bytes`);
  if (purpose === '') throw new RangeError('a derived key needs a purpose');
  return Buffer.from(hkdfSync('sha256', master, salt, purpose, keyBytes));
}
