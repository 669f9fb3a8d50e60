/** Key check values: whether two parties hold the same key, without showing it. */
import { aesEncrypt, tdesEncrypt } from './ciphers.ts';

/** The bytes of a check value that are shown. */
const shownBytes = 3;
/** R128 of NIST SP 800-38B 5.3. */
const reduction = 0x87;

/** The subkey K1 of CMAC for a message of one whole block. */
function subkey(key: Uint8Array): Buffer {
  const start = aesEncrypt(key, Buffer.alloc(16));
  const carried = ((start[0] ?? 0) & 0x80) !== 0;
  const shifted = Buffer.alloc(16);
  for (let at = 0; at < 16; at += 1) {
    shifted[at] = (((start[at] ?? 0) << 1) | ((start[at + 1] ?? 0) >> 7)) & 0xff;
  }
  if (carried) shifted[15] = (shifted[15] ?? 0) ^ reduction;
  return shifted;
}

/**
 * The check value of a key: of TDES what eight zero bytes become, of AES the CMAC (NIST SP 800-38B)
 * of sixteen, each time the first three bytes (ANSI X9.24-1:2017 7.7.2).
 *
 * @param key - 16 or 24 bytes for TDES; 16, 24 or 32 for AES
 * @param algorithm - what the key is for, since the length alone does not tell
 * @returns six hexadecimal digits in upper case
 * @throws PinError `key_invalid`
 * @example
 * keyCheckValue(Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex'), 'Tdes'); // '08D7B4'
 */
export function keyCheckValue(key: Uint8Array, algorithm: 'Tdes' | 'Aes'): string {
  const value =
    algorithm === 'Tdes' ? tdesEncrypt(key, Buffer.alloc(8)) : aesEncrypt(key, subkey(key));
  return value.toString('hex', 0, shownBytes).toUpperCase();
}
