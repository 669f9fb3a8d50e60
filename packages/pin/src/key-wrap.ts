/** Keys under keys: how a zone key travels between two parties that share a zone master key. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { tdesDecrypt, tdesEncrypt } from './block-ciphers.ts';
import { PinError } from './errors.ts';

const aesWraps: Readonly<Record<number, string>> = {
  16: 'id-aes128-wrap',
  24: 'id-aes192-wrap',
  32: 'id-aes256-wrap',
};
/** The initial value of RFC 3394 2.2.3.1, by which a wrong key is noticed. */
const initialValue = Buffer.alloc(8, 0xa6);
const lengths = { Tdes: [16, 24], Aes: [16, 24, 32] } as const;

/**
 * The algorithm of the wrapping key: TDES wraps block by block, as acquirer hosts do it in data element
 * 48 or 96; AES wraps after RFC 3394.
 *
 * @example
 * const algorithm: WrapAlgorithm = 'Tdes';
 */
export type WrapAlgorithm = 'Tdes' | 'Aes';

const aesName = (wrapping: Uint8Array): string => {
  const name = aesWraps[wrapping.length];
  if (name === undefined) throw new PinError('key_invalid');
  return name;
};

/**
 * Wraps a key under another.
 *
 * @param wrapping - the zone master key
 * @param key - of 16 or 24 bytes, under AES also 32
 * @param algorithm - of the zone master key
 * @throws PinError `key_invalid`
 * @example
 * wrapKey(zoneMasterKey, zonePinKey, 'Tdes').toString('hex');
 */
export function wrapKey(wrapping: Uint8Array, key: Uint8Array, algorithm: WrapAlgorithm): Buffer {
  if (!lengths[algorithm].some((length) => length === key.length)) {
    throw new PinError('key_invalid');
  }
  if (algorithm === 'Tdes') return tdesEncrypt(wrapping, key);
  const cipher = createCipheriv(aesName(wrapping), wrapping, initialValue);
  return Buffer.concat([cipher.update(key), cipher.final()]);
}

/**
 * Unwraps a key. TDES does not detect a wrong key: compare the check value.
 *
 * @param wrapping - the zone master key
 * @param wrapped - what {@link wrapKey} made
 * @param algorithm - of the zone master key
 * @throws PinError `key_invalid`: a length that no key has, or under AES another wrapping key
 * @example
 * const zonePinKey = unwrapKey(zoneMasterKey, wrapped, 'Tdes');
 */
export function unwrapKey(
  wrapping: Uint8Array,
  wrapped: Uint8Array,
  algorithm: WrapAlgorithm,
): Buffer {
  const length = algorithm === 'Tdes' ? wrapped.length : wrapped.length - initialValue.length;
  if (!lengths[algorithm].some((each) => each === length)) throw new PinError('key_invalid');
  if (algorithm === 'Tdes') return tdesDecrypt(wrapping, wrapped);
  try {
    const decipher = createDecipheriv(aesName(wrapping), wrapping, initialValue);
    return Buffer.concat([decipher.update(wrapped), decipher.final()]);
  } catch {
    throw new PinError('key_invalid');
  }
}
