// One-time passwords (RFC 6238) and recovery codes: create, encrypt, hash and verify.
import { createHmac } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { decryptBytes, deriveKey, encryptBytes, type Ids } from '../../../platform/index.ts';

const periodSeconds = 30;
const digits = 6;
/** One step before and after: the clock of a phone may be half a minute off. */
const toleratedSteps = 1;
/** RFC 4226, section 4: as long as the hash. */
const secretBytes = 20;
const codePattern = /^\d{6}$/;
/** Includes spaces that a user types. */
const maxTypedLength = 64;

export const recoveryCodeCount = 10;
/** Crockford's alphabet has no I, L, O and U, which users misread. */
const recoveryAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const recoveryCodeLength = 10;
const recoveryCodePattern = /^[0-9A-HJKMNP-TV-Z]{10}$/;

export type UserKey = { readonly organizationId: string; readonly userId: string };

export type OneTimePasswords = ReturnType<typeof createOneTimePasswords>;

export function createOneTimePasswords(masterKey: Buffer, ids: Ids) {
  const secretKey = deriveKey(masterKey, 'one-time-passwords');
  const recoveryCodeKey = deriveKey(masterKey, 'recovery-codes');
  const encryptionContext = ({ organizationId, userId }: UserKey) => `${organizationId}|${userId}`;
  const dummySecret = Buffer.from(ids.secret(secretBytes), 'base64url');

  return {
    newSecret: (): Buffer => Buffer.from(ids.secret(secretBytes), 'base64url'),

    sealSecret: (secret: Buffer, owner: UserKey): Buffer =>
      encryptBytes(secretKey, secret, encryptionContext(owner)),

    openSecret: (sealed: Buffer, owner: UserKey): Buffer =>
      decryptBytes(secretKey, sealed, encryptionContext(owner)),

    /** The 30-second step of this code, or undefined. Without a secret it does the same work. */
    findMatchingStep(secret: Buffer | undefined, code: string, now: number): number | undefined {
      const token = code.length > maxTypedLength ? '' : code.replaceAll(/\s/g, '');
      const delta = TOTP.validate({
        token: codePattern.test(token) ? token : 'not a code',
        secret: toOtpauthSecret(secret ?? dummySecret),
        algorithm: 'SHA1',
        digits,
        period: periodSeconds,
        timestamp: now,
        window: toleratedSteps,
      });
      if (delta === null || secret === undefined) return undefined;
      return Math.floor(now / 1000 / periodSeconds) + delta;
    },

    /** The URI in the QR code that authenticator apps read. */
    toOtpauthUri: (secret: Buffer, issuer: string, username: string): string =>
      new TOTP({
        issuer,
        label: username,
        algorithm: 'SHA1',
        digits,
        period: periodSeconds,
        secret: toOtpauthSecret(secret),
      }).toString(),

    toBase32: (secret: Buffer): string => toOtpauthSecret(secret).base32,

    newRecoveryCodes: (): string[] =>
      Array.from({ length: recoveryCodeCount }, () => {
        const bytes = Buffer.from(ids.secret(), 'base64url').subarray(0, recoveryCodeLength);
        const code = [...bytes].map((byte) => recoveryAlphabet[byte % 32]).join('');
        return `${code.slice(0, 5)}-${code.slice(5)}`;
      }),

    /**
     * Fifty bits are enough while a lock limits the attempts, but too few for a stolen plain hash:
     * with the key, the hash is useless without the master key.
     */
    hashRecoveryCode(code: string, owner: UserKey): Buffer {
      const text = normalizeRecoveryCode(code);
      return createHmac('sha256', recoveryCodeKey)
        .update(`${encryptionContext(owner)}|${text}`)
        .digest();
    },

    isRecoveryCode: (code: string): boolean =>
      recoveryCodePattern.test(normalizeRecoveryCode(code)),
  };
}

/** Decodes base32; undefined if the text is not base32 of 20 bytes. */
export function parseOtpSecret(text: string): Buffer | undefined {
  try {
    const { bytes } = Secret.fromBase32(text);
    return bytes.length === secretBytes ? Buffer.from(bytes) : undefined;
  } catch {
    return undefined;
  }
}

function toOtpauthSecret(bytes: Buffer): Secret {
  return new Secret({ buffer: new Uint8Array(bytes).buffer });
}

/** Corrects typing variants: lower case, other separators, O for 0, I and L for 1. */
function normalizeRecoveryCode(code: string): string {
  if (code.length > maxTypedLength) return '';
  return code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}
