/** Message authentication codes of acquirer links: CMAC with AES, and the retail MAC with DES. */
import { aesEncrypt, desEncrypt, encryptCbc, tdesDecrypt, xor } from './block-ciphers.ts';
import { PinError } from './errors.ts';

const aesBlock = 16;
const desBlock = 8;
/** R128 of NIST SP 800-38B 5.3. */
const reduction = 0x87;

/** Doubling in the field of 2^128 elements: how a subkey comes from the one before. */
function doubled(block: Uint8Array): Buffer {
  const carried = ((block[0] ?? 0) & 0x80) !== 0;
  const shifted = Buffer.alloc(aesBlock);
  for (let at = 0; at < aesBlock; at += 1) {
    shifted[at] = (((block[at] ?? 0) << 1) | ((block[at + 1] ?? 0) >> 7)) & 0xff;
  }
  if (carried) shifted[aesBlock - 1] = (shifted[aesBlock - 1] ?? 0) ^ reduction;
  return shifted;
}

/**
 * AES-CMAC (NIST SP 800-38B, RFC 4493).
 *
 * @param key - 16, 24 or 32 bytes
 * @param data - of any length
 * @returns all 16 bytes; a message carries the first 8 as a rule
 * @throws PinError `key_invalid`
 * @example
 * aesCmac(macKey, message).subarray(0, 8);
 */
export function aesCmac(key: Uint8Array, data: Uint8Array): Buffer {
  const first = doubled(aesEncrypt(key, Buffer.alloc(aesBlock)));
  const whole = data.length > 0 && data.length % aesBlock === 0;
  const padded = Buffer.alloc(Math.max(1, Math.ceil(data.length / aesBlock)) * aesBlock);
  padded.set(data);
  if (!whole) padded[data.length] = 0x80;
  const last = padded.subarray(padded.length - aesBlock);
  last.set(xor(last, whole ? first : doubled(first)));
  const chained = encryptCbc('aes', key, padded);
  padded.fill(0);
  return chained.subarray(chained.length - aesBlock);
}

/**
 * The retail MAC: ISO/IEC 9797-1 MAC algorithm 3 with DES and padding method 1, which is ANSI X9.19.
 *
 * @param key - 16 bytes
 * @param data - of any length; zeros fill the last block
 * @returns all 8 bytes
 * @throws PinError `key_invalid`
 * @example
 * const field64 = retailMac(macKey, message);
 */
export function retailMac(key: Uint8Array, data: Uint8Array): Buffer {
  if (key.length !== 16) throw new PinError('key_invalid');
  const padded = Buffer.alloc(Math.max(1, Math.ceil(data.length / desBlock)) * desBlock);
  padded.set(data);
  const leftKey = key.subarray(0, 8);
  const right = key.subarray(8, 16);
  // Single DES by the names that OpenSSL 3 has: one key three times.
  const chain = Buffer.concat([leftKey, leftKey, leftKey]);
  const ending = Buffer.concat([right, right, right]);
  const chained = encryptCbc('tdes', chain, padded);
  const opened = tdesDecrypt(ending, chained.subarray(chained.length - desBlock));
  const mac = desEncrypt(leftKey, opened);
  for (const secret of [padded, chain, ending, opened]) secret.fill(0);
  return mac;
}
