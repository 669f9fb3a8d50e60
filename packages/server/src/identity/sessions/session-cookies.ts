// The cookies of the sign-in: named by realm, signed, HttpOnly and Secure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Configuration } from 'oidc-provider';
import { deriveKey } from '../../platform/index.ts';

type Options = NonNullable<Configuration['cookies']>;

/** The interface of oidc-provider for cookie keys; its default signs with SHA-1. */
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
 * The session cookie is valid for the whole host, hence `__Host-`. The other two belong to one
 * login request; oidc-provider sets their path, so that several tabs do not conflict.
 */
export function sessionCookieOptions(userDomainId: string, keys: CookieSigningKeys) {
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
  } satisfies Options;
}
