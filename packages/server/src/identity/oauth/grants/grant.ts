// The type of a grant of the token endpoint (RFC 6749, 1.3), and its ports.
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, TokenEndpointGrantContext } from 'oidc-provider';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { NotSignedIn, SignedIn, SignInAttempt, User } from '../../accounts/types.ts';
import type { Application, SecurityFlow } from '../../clients/application-record.ts';
import type { DeviceTokenIssuer } from '../../devices/device-tokens.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { UserTokenIssuer } from '../../tokens/issue-user-tokens.ts';

export type GrantDeps = {
  readonly provider: Provider;
  readonly realm: Realm;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly userTokens: UserTokenIssuer;
  readonly deviceTokens: DeviceTokenIssuer;
  /** Of this realm; undefined if disabled. */
  findApplication(clientId: string): Promise<Application | undefined>;
  /** Of this realm, enabled or disabled. */
  findUser(userId: string): Promise<User | undefined>;
  /** Checks password and one-time password; all grants and pages use it. */
  authenticate(attempt: SignInAttempt): Promise<SignedIn | NotSignedIn>;
  /** Rejects if the client exceeds its rate limit. */
  limitClient(ctx: KoaContextWithOIDC, clientId: string): Promise<void>;
};

export type Grant = {
  readonly grantType: string;
  /** The security flows of an application that allow it; one is enough. */
  readonly securityFlows: readonly SecurityFlow[];
  readonly parameters: readonly string[];
  handle(deps: GrantDeps): (ctx: TokenEndpointGrantContext) => Promise<void>;
};
