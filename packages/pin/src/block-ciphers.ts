// One block cipher step at a time: TDES and AES in ECB, as DUKPT and PIN blocks are built from them.
import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto';
import { PinError } from './errors.ts';

const tdesNames: Readonly<Record<number, string>> = { 16: 'des-ede-ecb', 24: 'des-ede3-ecb' };
const aesNames: Readonly<Record<number, string>> = {
  16: 'aes-128-ecb',
  24: 'aes-192-ecb',
  32: 'aes-256-ecb',
};

function run(
  make: typeof createCipheriv | typeof createDecipheriv,
  name: string | undefined,
  key: Uint8Array,
  data: Uint8Array,
): Buffer {
  if (name === undefined) throw new PinError('key_invalid');
  // As a key object: of bytes Node.js asks first whether they are one, which costs five times the rest.
  // Whole blocks only: with padding off, update answers all of it and final nothing.
  return make(name, createSecretKey(key), null).setAutoPadding(false).update(data);
}

export const tdesEncrypt = (key: Uint8Array, data: Uint8Array): Buffer =>
  run(createCipheriv, tdesNames[key.length], key, data);

export const tdesDecrypt = (key: Uint8Array, data: Uint8Array): Buffer =>
  run(createDecipheriv, tdesNames[key.length], key, data);

export const aesEncrypt = (key: Uint8Array, data: Uint8Array): Buffer =>
  run(createCipheriv, aesNames[key.length], key, data);

export const aesDecrypt = (key: Uint8Array, data: Uint8Array): Buffer =>
  run(createDecipheriv, aesNames[key.length], key, data);

const blockBytes = { tdes: 8, aes: 16 } as const;
const cbc = (name: string | undefined): string | undefined => name?.replace(/ecb$/, 'cbc');

/** CBC with an initialisation vector of zeros: for data that is encrypted once with its own key. */
function runCbc(
  make: typeof createCipheriv | typeof createDecipheriv,
  algorithm: keyof typeof blockBytes,
  key: Uint8Array,
  data: Uint8Array,
): Buffer {
  const names = algorithm === 'tdes' ? tdesNames : aesNames;
  const name = cbc(names[key.length]);
  if (name === undefined) throw new PinError('key_invalid');
  const zeros = Buffer.alloc(blockBytes[algorithm]);
  return make(name, createSecretKey(key), zeros).setAutoPadding(false).update(data);
}

export const encryptCbc = (
  algorithm: keyof typeof blockBytes,
  key: Uint8Array,
  data: Uint8Array,
): Buffer => runCbc(createCipheriv, algorithm, key, data);

export const decryptCbc = (
  algorithm: keyof typeof blockBytes,
  key: Uint8Array,
  data: Uint8Array,
): Buffer => runCbc(createDecipheriv, algorithm, key, data);

/** Single DES, which OpenSSL 3 has no name for: TDES with one key three times is the same. */
export function desEncrypt(key: Uint8Array, data: Uint8Array): Buffer {
  const tripled = Buffer.concat([key, key, key]);
  const encrypted = tdesEncrypt(tripled, data);
  tripled.fill(0);
  return encrypted;
}

/** Byte by byte; the second is as long as the first. */
export function xor(one: Uint8Array, other: Uint8Array): Buffer {
  const mixed = Buffer.alloc(one.length);
  for (let at = 0; at < one.length; at += 1) mixed[at] = (one[at] ?? 0) ^ (other[at] ?? 0);
  return mixed;
}
