// Derives a key for each purpose from the master key, so that no key serves two of them.
import { hkdfSync } from 'node:crypto';

const keyBytes = 32;
/** Sets these keys apart from whatever else is derived from the same master key. */
const salt = 'switchyard';

/** HKDF-SHA256 (RFC 5869); the same master key and purpose give the same key for ever. */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  if (master.length !== keyBytes) throw new RangeError(`a master key has ${keyBytes} bytes`);
  if (purpose === '') throw new RangeError('a derived key needs a purpose');
  return Buffer.from(hkdfSync('sha256', master, salt, purpose, keyBytes));
}
