// What the pages are given: accounts, sign-ins and sessions, of which they show the faces.
import type { Clock, Ids } from '../../platform/index.ts';
import type { Accounts } from '../accounts/index.ts';
import type { OidcEntityStore } from '../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import type { LoginInteractions } from '../sessions/login-interactions.ts';
import type { Sessions } from '../sessions/sessions.ts';

export type PagesDeps = {
  readonly accounts: Pick<
    Accounts,
    | 'authenticate'
    | 'find'
    | 'setPassword'
    | 'beginOtp'
    | 'confirmOtp'
    | 'renewRecoveryCodes'
    | 'passkeys'
    | 'links'
    | 'passwordFault'
    | 'signIns'
  >;
  readonly interactions: LoginInteractions;
  readonly sessions: Sessions;
  readonly entities: OidcEntityStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** 32 bytes, of which the keys of forms and steps are derived. */
  readonly masterKey: Buffer;
  readonly settings: PageSettings;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
};

/** The site as browsers and passkeys know it. */
export type RelyingParty = Parameters<Accounts['passkeys']['register']>[2];

export type PageSettings = {
  readonly authUrl: string;
  /** Where the portal stands; left out: at the `authUrl`. */
  readonly baseUrl?: string;
  /** Under which each client has its host; left out where none has. */
  readonly portalDomain?: string | undefined;
  /** Left out: the name of the product. */
  readonly signInName?: string | undefined;
  readonly supportContact?: string | undefined;
};
