// Seals bytes for storage with AES-256-GCM: unreadable without the key, and of no use in another place.
import { createCipheriv, createDecipheriv, createSecretKey, hash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const version = 1;
/** Tells which of several keys sealed it, while old and new ones live side by side. */
const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;
const ivStart = 1 + keyIdBytes;
const tagStart = ivStart + ivBytes;
const textStart = tagStart + tagBytes;

/**
 * [version 1 | key id 4 | iv 12 | tag 16 | ciphertext]. `boundTo` names the place, such as tenant and row:
 * opened anywhere else, the seal is broken. Random initialisation vectors: at most 2^32 seals per key.
 */
export function encryptBytes(key: Buffer, plaintext: Buffer, associatedData: string): Buffer {
  const iv = randomBytes(ivBytes);
  // As a key object: of bytes Node.js asks first whether they are one, which costs five times the rest.
  const keyObject = createSecretKey(key);
  const cipher = createCipheriv(algorithm, keyObject, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(associatedData));
  const text = cipher.update(plaintext);
  const rest = cipher.final();
  return Buffer.concat([Buffer.of(version), keyIdOf(key), iv, cipher.getAuthTag(), text, rest]);
}

/**
 * @param keys the key, or several while they are changed
 * @throws Error where no key fits, the bytes were changed, or they belong elsewhere
 */
export function decryptBytes(
  keys: Buffer | readonly Buffer[],
  encrypted: Buffer,
  associatedData: string,
): Buffer {
  if (encrypted.length < textStart || encrypted[0] !== version)
    throw new Error('these are no sealed bytes');
  const keyId = encrypted.subarray(1, ivStart);
  const key = (Buffer.isBuffer(keys) ? [keys] : keys).find((candidate) =>
    keyIdOf(candidate).equals(keyId),
  );
  if (key === undefined) throw new Error('no key at hand opens this seal');
  const iv = encrypted.subarray(ivStart, tagStart);
  const decipher = createDecipheriv(algorithm, createSecretKey(key), iv, {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(encrypted.subarray(tagStart, textStart));
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(textStart)), decipher.final()]);
  } catch (error) {
    throw new Error('the seal is broken: bytes, key or place do not fit', { cause: error });
  }
}

/** Of the key's hash: it says nothing about the key that 32 bits could give away. */
function keyIdOf(key: Buffer): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, keyIdBytes);
}
