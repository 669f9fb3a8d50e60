// A grant of the token endpoint (RFC 6749, 1.3), and the ports that it works with.
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, TokenEndpointGrantContext } from 'oidc-provider';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { Attempt, NotSignedIn, SignedIn, User } from '../../accounts/types.ts';
import type { Application, SecurityFlow } from '../../clients/application.ts';
import type { DeviceTokenIssuer } from '../../devices/device-tokens.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { UserTokenIssuer } from '../../tokens/issue-user-tokens.ts';

export type GrantDeps = {
  readonly provider: Provider;
  readonly realm: Realm;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly userTokens: UserTokenIssuer;
  readonly deviceTokens: DeviceTokenIssuer;
  /** Of this realm, and undefined where it is disabled. */
  findApplication(clientId: string): Promise<Application | undefined>;
  /** Of this realm, enabled or not. */
  findUser(userId: string): Promise<User | undefined>;
  /** The one door for passwords and codes. */
  authenticate(attempt: Attempt): Promise<SignedIn | NotSignedIn>;
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
