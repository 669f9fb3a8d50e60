// The dependencies and settings of the sign-in pages.
import type { Clock, Ids } from '../../../platform/index.ts';
import type { Accounts } from '../../accounts/index.ts';
import type { OidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { LoginInteractions } from '../../sessions/login-interactions.ts';
import type { Sessions } from '../../sessions/sessions.ts';

export type LoginPageDependencies = {
  readonly accounts: Pick<
    Accounts,
    | 'authenticate'
    | 'find'
    | 'setPassword'
    | 'beginOtpEnrolment'
    | 'confirmOtpEnrolment'
    | 'renewRecoveryCodes'
    | 'passkeys'
    | 'emailLinks'
    | 'findPasswordViolation'
    | 'signInHistory'
  >;
  readonly interactions: LoginInteractions;
  readonly sessions: Sessions;
  readonly entities: OidcEntityStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** 32 bytes; the keys of CSRF tokens and sign-in steps are derived from it. */
  readonly masterKey: Buffer;
  readonly settings: LoginPageSettings;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
};

/** The WebAuthn relying party: the site as browsers and passkeys know it. */
export type RelyingParty = Parameters<Accounts['passkeys']['register']>[2];

export type LoginPageSettings = {
  readonly authUrl: string;
  /** The address of the portal; default: `authUrl`. */
  readonly baseUrl?: string;
  /** The domain under which each client has its portal host; missing without such hosts. */
  readonly portalDomain?: string | undefined;
  /** Default: the name of the product. */
  readonly signInBrandName?: string | undefined;
  readonly supportContact?: string | undefined;
};
