// The oidc-provider instance of one realm, with its cookie options.
import type Provider from 'oidc-provider';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { sessionCookieOptions } from './session-cookies.ts';

export type RealmProvider = {
  readonly realm: Realm;
  readonly provider: Provider;
  readonly cookies: ReturnType<typeof sessionCookieOptions>;
};
