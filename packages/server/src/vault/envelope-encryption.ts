// Encrypts data in a record that is bound to its organisation, its key and its use.
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** Identifies the algorithm; version 1 used one key for all organisations. */
const version = 2;
const legacyVersion = 1;
const keyIdBytes = 16;
const ivBytes = 12;
const tagBytes = 16;
const ivStart = 1 + keyIdBytes;
const tagStart = ivStart + ivBytes;
const textStart = tagStart + tagBytes;

export type Place = {
  readonly organizationId: string /** For example a row. */;
  readonly within: string;
};

function boundTo(keyId: string, { organizationId, within }: Place): Buffer {
  return Buffer.from(`vault|${version}|${organizationId}|${keyId}|${within}`);
}

/**
 * [version 1 | key id 16 | iv 12 | tag 16 | text]. The initialisation vectors are random: keys
 * rotate long before 2^32 encryptions.
 */
export function sealEnvelope(key: Buffer, keyId: string, place: Place, text: Buffer): Buffer {
  const iv = randomBytes(ivBytes);
  // A key object, because Node.js first checks the type of raw bytes, which takes five times
  // longer.
  const held = createSecretKey(key);
  const cipher = createCipheriv(algorithm, held, iv, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(keyId, place));
  const sealed = cipher.update(text);
  const rest = cipher.final();
  const id = Buffer.from(keyId.replaceAll('-', ''), 'hex');
  return Buffer.concat([Buffer.of(version), id, iv, cipher.getAuthTag(), sealed, rest]);
}

export function isLegacy(sealed: Buffer): boolean {
  return sealed[0] === legacyVersion;
}

/**
 * The identifier of the key that decrypts the record.
 *
 * @throws Error if the bytes are no such record
 */
export function keyIdOf(sealed: Buffer): string {
  if (sealed.length < textStart || sealed[0] !== version)
    throw new Error('these are no sealed bytes of the vault');
  const hex = sealed.toString('hex', 1, ivStart);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** @throws Error if the bytes, the key or the place do not match */
export function openEnvelope(key: Buffer, place: Place, sealed: Buffer): Buffer {
  const iv = sealed.subarray(ivStart, tagStart);
  const decipher = createDecipheriv(algorithm, createSecretKey(key), iv, {
    authTagLength: tagBytes,
  });
  decipher.setAAD(boundTo(keyIdOf(sealed), place));
  decipher.setAuthTag(sealed.subarray(tagStart, textStart));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(textStart)), decipher.final()]);
  } catch (error) {
    throw new Error('the seal is broken: bytes, key or place do not fit', { cause: error });
  }
}
