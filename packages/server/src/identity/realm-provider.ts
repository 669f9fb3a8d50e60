// The authorization server of one realm, with the realm and the options of its cookies.
import type Provider from 'oidc-provider';
import type { cookieOptions } from './cookies.ts';
import type { Realm } from './types.ts';

export type RealmProvider = {
  readonly realm: Realm;
  readonly provider: Provider;
  readonly cookies: ReturnType<typeof cookieOptions>;
};
