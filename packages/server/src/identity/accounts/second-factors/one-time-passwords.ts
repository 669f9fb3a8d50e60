// One-time passwords by RFC 6238, and the recovery codes for a lost phone: made, read and kept unreadable.
import { createHmac } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { deriveKey, type Ids, openSealed, seal } from '../../../platform/index.ts';

const periodSeconds = 30;
const digits = 6;
/** The step before and the one after: a phone's clock may be half a minute off. */
const stepsEitherSide = 1;
/** RFC 4226, 4: as long as the hash. */
const secretBytes = 20;
const codePattern = /^\d{6}$/;
/** With every space that a person puts in. */
const typedCharsMax = 64;

export const recoveryCodesAtOnce = 10;
/** Crockford's alphabet has no I, L, O and U, which are misread. */
const recoveryAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const recoveryCharacters = 10;
const recoveryPattern = /^[0-9A-HJKMNP-TV-Z]{10}$/;

export type Owner = { readonly organizationId: string; readonly userId: string };

export type OneTimePasswords = ReturnType<typeof createOneTimePasswords>;

export function createOneTimePasswords(masterKey: Buffer, ids: Ids) {
  const sealKey = deriveKey(masterKey, 'one-time-passwords');
  const recoveryKey = deriveKey(masterKey, 'recovery-codes');
  const placeOf = ({ organizationId, userId }: Owner) => `${organizationId}|${userId}`;
  const nobodysSecret = Buffer.from(ids.secret(secretBytes), 'base64url');

  return {
    newSecret: (): Buffer => Buffer.from(ids.secret(secretBytes), 'base64url'),

    seal: (secret: Buffer, owner: Owner): Buffer => seal(sealKey, secret, placeOf(owner)),

    open: (sealed: Buffer, owner: Owner): Buffer => openSealed(sealKey, sealed, placeOf(owner)),

    /** The 30-second step whose code this is, or undefined. Without a secret it does the same work. */
    stepOf(secret: Buffer | undefined, code: string, at: number): number | undefined {
      const token = code.length > typedCharsMax ? '' : code.replaceAll(/\s/g, '');
      const delta = TOTP.validate({
        token: codePattern.test(token) ? token : 'not a code',
        secret: secretFrom(secret ?? nobodysSecret),
        algorithm: 'SHA1',
        digits,
        period: periodSeconds,
        timestamp: at,
        window: stepsEitherSide,
      });
      if (delta === null || secret === undefined) return undefined;
      return Math.floor(at / 1000 / periodSeconds) + delta;
    },

    /** The address in the QR code that authenticator applications read. */
    uriOf: (secret: Buffer, issuer: string, username: string): string =>
      new TOTP({
        issuer,
        label: username,
        algorithm: 'SHA1',
        digits,
        period: periodSeconds,
        secret: secretFrom(secret),
      }).toString(),

    textOf: (secret: Buffer): string => secretFrom(secret).base32,

    newRecoveryCodes: (): string[] =>
      Array.from({ length: recoveryCodesAtOnce }, () => {
        const bytes = Buffer.from(ids.secret(), 'base64url').subarray(0, recoveryCharacters);
        const code = [...bytes].map((byte) => recoveryAlphabet[byte % 32]).join('');
        return `${code.slice(0, 5)}-${code.slice(5)}`;
      }),

    /**
     * Fifty bits are enough against guessing under a lock, and too few for a plain hash that was
     * stolen: the key makes the hash useless without the master key.
     */
    recoveryHash(code: string, owner: Owner): Buffer {
      const text = plainRecoveryCode(code);
      return createHmac('sha256', recoveryKey)
        .update(`${placeOf(owner)}|${text}`)
        .digest();
    },

    isRecoveryCode: (code: string): boolean => recoveryPattern.test(plainRecoveryCode(code)),
  };
}

/** Base32 as people and QR codes carry it; undefined where it is none, or not of 20 bytes. */
export function readOtpSecret(text: string): Buffer | undefined {
  try {
    const { bytes } = Secret.fromBase32(text);
    return bytes.length === secretBytes ? Buffer.from(bytes) : undefined;
  } catch {
    return undefined;
  }
}

function secretFrom(bytes: Buffer): Secret {
  return new Secret({ buffer: new Uint8Array(bytes).buffer });
}

/** What people do to a code on its way from paper: small letters, other gaps, O for 0. */
function plainRecoveryCode(code: string): string {
  if (code.length > typedCharsMax) return '';
  return code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}
