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
const ciphertextStart = tagStart + tagBytes;

export type EncryptionContext = {
  readonly organizationId: string /** For example a row. */;
  readonly recordName: string;
};

function additionalData(keyId: string, { organizationId, recordName }: EncryptionContext): Buffer {
  return Buffer.from(`vault|${version}|${organizationId}|${keyId}|${recordName}`);
}

/**
 * [version 1 | key id 16 | iv 12 | tag 16 | text]. The initialisation vectors are random: keys
 * rotate long before 2^32 encryptions.
 */
export function encryptRecord(
  key: Buffer,
  keyId: string,
  context: EncryptionContext,
  text: Buffer,
): Buffer {
  const iv = randomBytes(ivBytes);
  // A key object, because Node.js first checks the type of raw bytes, which takes five times
  // longer.
  const keyObject = createSecretKey(key);
  const cipher = createCipheriv(algorithm, keyObject, iv, { authTagLength: tagBytes });
  cipher.setAAD(additionalData(keyId, context));
  const ciphertext = cipher.update(text);
  const rest = cipher.final();
  const id = Buffer.from(keyId.replaceAll('-', ''), 'hex');
  return Buffer.concat([Buffer.of(version), id, iv, cipher.getAuthTag(), ciphertext, rest]);
}

export function isLegacyFormat(encryptedRecord: Buffer): boolean {
  return encryptedRecord[0] === legacyVersion;
}

/**
 * The identifier of the key that decrypts the record.
 *
 * @throws Error if the bytes are no such record
 */
export function readKeyId(encryptedRecord: Buffer): string {
  if (encryptedRecord.length < ciphertextStart || encryptedRecord[0] !== version)
    throw new Error('the bytes are not an encrypted record of the vault');
  const hex = encryptedRecord.toString('hex', 1, ivStart);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** @throws Error if the bytes, the key or the place do not match */
export function decryptRecord(
  key: Buffer,
  context: EncryptionContext,
  encryptedRecord: Buffer,
): Buffer {
  const iv = encryptedRecord.subarray(ivStart, tagStart);
  const decipher = createDecipheriv(algorithm, createSecretKey(key), iv, {
    authTagLength: tagBytes,
  });
  decipher.setAAD(additionalData(readKeyId(encryptedRecord), context));
  decipher.setAuthTag(encryptedRecord.subarray(tagStart, ciphertextStart));
  try {
    return Buffer.concat([
      decipher.update(encryptedRecord.subarray(ciphertextStart)),
      decipher.final(),
    ]);
  } catch (error) {
    throw new Error('the record does not decrypt: its bytes, key or context do not match', {
      cause: error,
    });
  }
}
