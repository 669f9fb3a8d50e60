/** Keys of the message protection, derived from a pass phrase. */
import { pbkdf2Sync } from 'node:crypto';
import { NexoError } from '../errors.ts';

/**
 * A key that till and terminal share. Terminal and till are configured with the same three facts; a new
 * version takes over while the old one is still understood.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * const key: SharedKey = { identifier: 'store-7', version: 1, passphrase: 'correct horse battery' };
 */
export type SharedKey = {
  readonly identifier: string;
  readonly version: number;
  /** Printable ASCII: other characters become other bytes in every client library of this field. */
  readonly passphrase: string;
};

/** The keys that are derived from a pass phrase.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * const { cipherKey }: DerivedKeys = deriveKeys(passphrase);
 */
export type DerivedKeys = {
  readonly hmacKey: Uint8Array;
  readonly cipherKey: Uint8Array;
  readonly iv: Uint8Array;
};

const salt = 'AdyenNexoV1Salt';
const rounds = 4000;
const derivedBytes = 80;

/**
 * Derives the three keys of a pass phrase: 80 bytes of PBKDF2 with HMAC-SHA-1, the fixed salt and
 * 4,000 rounds, split into 32, 32 and 16.
 *
 * The rounds are few and the salt is public, so a pass phrase must be long and random. The
 * derivation takes some milliseconds; cache the result.
 *
 * Source: public documentation of the Terminal API, "Protect local communications"; RFC 8018, 5.2.
 *
 * @param passphrase - printable ASCII, 1 to 256 characters
 * @returns the keys for HMAC and cipher, and the base of the initial vectors
 * @throws NexoError `key_invalid`
 * @example
 * const { hmacKey, cipherKey, iv } = deriveKeys('correct horse battery');
 */
export function deriveKeys(passphrase: string): DerivedKeys {
  if (!/^[\x20-\x7e]{1,256}$/.test(passphrase)) throw new NexoError('key_invalid');
  const bytes = pbkdf2Sync(passphrase, salt, rounds, derivedBytes, 'sha1');
  return {
    hmacKey: bytes.subarray(0, 32),
    cipherKey: bytes.subarray(32, 64),
    iv: bytes.subarray(64, derivedBytes),
  };
}

/** Refuses a key whose facts cannot stand in a trailer. */
export function checkKey({ identifier, version }: SharedKey): void {
  const isIdentifierValid = /^[\x20-\x7e]{1,128}$/.test(identifier);
  if (!isIdentifierValid || !Number.isInteger(version) || version < 0)
    throw new NexoError('key_invalid');
}
