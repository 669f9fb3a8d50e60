/** Key check values: whether two parties hold the same key, without showing it. */
import { tdesEncrypt } from './block-ciphers.ts';
import { aesCmac } from './mac.ts';

/** The bytes of a check value that are shown. */
const checkValueBytes = 3;

/**
 * The check value of a key: of TDES what eight zero bytes become, of AES the CMAC (NIST SP 800-38B)
 * of sixteen, each time the first three bytes (ANSI X9.24-1:2017 7.7.2).
 *
 * @param key - 16 or 24 bytes for TDES; 16, 24 or 32 for AES
 * @param algorithm - the algorithm of the key, which the length does not show
 * @returns six hexadecimal digits in upper case
 * @throws PinError `key_invalid`
 * @example
 * keyCheckValue(Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex'), 'Tdes'); // '08D7B4'
 */
export function keyCheckValue(key: Uint8Array, algorithm: 'Tdes' | 'Aes'): string {
  const value =
    algorithm === 'Tdes' ? tdesEncrypt(key, Buffer.alloc(8)) : aesCmac(key, Buffer.alloc(16));
  return value.toString('hex', 0, checkValueBytes).toUpperCase();
}
