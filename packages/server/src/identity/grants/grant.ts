// A grant of the token endpoint (RFC 6749, 1.3), and the ports that it works with.
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, TokenEndpointGrantContext } from 'oidc-provider';
import type { Clock, Ids } from '../../platform/index.ts';
import type { NotSignedIn, SignedIn, SignInAttempt, User } from '../accounts/types.ts';
import type { DeviceTokens } from '../devices/device-tokens.ts';
import type { Application, Realm, SecurityFlow } from '../types.ts';
import type { UserTokens } from '../user-tokens.ts';

export type GrantDeps = {
  readonly provider: Provider;
  readonly realm: Realm;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly userTokens: UserTokens;
  readonly deviceTokens: DeviceTokens;
  /** Of this realm, and undefined where it is disabled. */
  findApplication(clientId: string): Promise<Application | undefined>;
  /** Of this realm, enabled or not. */
  findUser(userId: string): Promise<User | undefined>;
  /** The one door for passwords and codes. */
  authenticate(attempt: SignInAttempt): Promise<SignedIn | NotSignedIn>;
  /** Rejects where the client asks too often. */
  limitClient(ctx: KoaContextWithOIDC, clientId: string): Promise<void>;
};

export type Grant = {
  readonly grantType: string;
  /** The settings of the application that allow it, each by itself. */
  readonly securityFlows: readonly SecurityFlow[];
  readonly parameters: readonly string[];
  handle(deps: GrantDeps): (ctx: TokenEndpointGrantContext) => Promise<void>;
};
