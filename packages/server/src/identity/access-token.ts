// Turns the library's JWT into the platform's: our claims, `typ: JWT`, a UUID as its id.
import type { ClientCredentials, JWTStructured, KoaContextWithOIDC } from 'oidc-provider';
import type { Clock, Ids } from '../platform/index.ts';
import { machineClaims } from './claims.ts';
import type { Application, Realm } from './types.ts';

type Deps = {
  realm: Realm;
  clock: Clock;
  ids: Ids;
  findApplication(clientId: string): Promise<Application | undefined>;
};

export function createTokenWriter({ realm, clock, ids, findApplication }: Deps) {
  return async (
    _ctx: KoaContextWithOIDC,
    token: Pick<ClientCredentials, 'scope' | 'clientId' | 'expiration'>,
    jwt: JWTStructured,
  ): Promise<void> => {
    const application = await findApplication(token.clientId ?? '');
    if (application === undefined) throw new Error('a token without an application');
    const issuedAt = Math.floor(clock.now() / 1000);
    const cnf = jwt.payload['cnf'] as { 'x5t#S256'?: string } | undefined;
    jwt.header = { ...jwt.header, typ: 'JWT' };
    jwt.payload = machineClaims({
      realm,
      application,
      scope: token.scope,
      tokenId: ids.uuidV4(),
      issuedAt,
      expiresAt: issuedAt + token.expiration,
      certificate: cnf?.['x5t#S256'],
    });
  };
}
