// The table of grants: to add one, write its file and name it here.
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, TokenEndpointGrantContext } from 'oidc-provider';
import type { Application, Realm, SecurityFlow } from '../types.ts';
import { clientCredentials } from './client-credentials.ts';

export type GrantDeps = {
  readonly provider: Provider;
  readonly realm: Realm;
  /** Of this realm, and undefined where it is disabled. */
  findApplication(clientId: string): Promise<Application | undefined>;
  /** Rejects where the client asks too often. */
  limitClient(ctx: KoaContextWithOIDC, clientId: string): Promise<void>;
};

export type Grant = {
  readonly grantType: string;
  /** The setting of the application that allows it. */
  readonly securityFlow: SecurityFlow;
  readonly parameters: readonly string[];
  handle(deps: GrantDeps): (ctx: TokenEndpointGrantContext) => Promise<void>;
};

export const grants: readonly Grant[] = [clientCredentials];

export function grantTypesOf(flows: readonly SecurityFlow[]): string[] {
  return grants
    .filter((grant) => flows.includes(grant.securityFlow))
    .map((grant) => grant.grantType);
}
