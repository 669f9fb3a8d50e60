// The cookies of the sign-in: names of each realm's own, signed, for this host and for no script.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Configuration } from 'oidc-provider';
import { deriveKey } from '../../platform/index.ts';

type Options = NonNullable<Configuration['cookies']>;

/** What the library asks of keys; its own would sign with SHA-1. */
export type CookieSigningKeys = {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
  index(text: string, signature: string): number;
};

export function createCookieSigningKeys(masterKey: Buffer): CookieSigningKeys {
  const key = deriveKey(masterKey, 'sign-in-cookies');
  const macOf = (text: string) => createHmac('sha256', key).update(text).digest();
  const verify = (text: string, signature: string) => {
    const givenMac = Buffer.from(signature, 'base64url');
    const expected = macOf(text);
    return givenMac.length === expected.length && timingSafeEqual(givenMac, expected);
  };
  return {
    sign: (text) => macOf(text).toString('base64url'),
    verify,
    index: (text, signature) => (verify(text, signature) ? 0 : -1),
  };
}

/**
 * The session is the whole host's, hence `__Host-`. The other two belong to one request to sign in:
 * the library gives each the path of its own request, so that tabs do not meet.
 */
export function sessionCookieOptions(userDomainId: string, keys: CookieSigningKeys): Options {
  const protectedCookie = { httpOnly: true, sameSite: 'lax', secure: true, signed: true } as const;
  return {
    names: {
      session: `__Host-switchyard-session-${userDomainId}`,
      interaction: `__Secure-switchyard-sign-in-${userDomainId}`,
      resume: `__Secure-switchyard-resume-${userDomainId}`,
    },
    long: { ...protectedCookie, path: '/' },
    short: protectedCookie,
    keys,
  };
}
