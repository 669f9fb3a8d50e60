// The realm document of Keycloak: public key and service URLs.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { RealmRequest } from '../provider/provider-dispatch.ts';
import { handleOauthError, sendOauthError } from './oauth-routes.ts';

/** Much shorter than the time between publication and use of a new signing key. */
const cacheSeconds = 300;

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  limits: OAuthEndpointLimits;
};

/** The RS256 key, which signs user tokens and which Keycloak clients expect. */
export function realmDocument({ userDomainId, issuer, signing }: Realm): Record<string, unknown> {
  return {
    realm: userDomainId,
    public_key: signing.RS256.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    'token-service': `${issuer}/protocol/openid-connect`,
    'account-service': `${issuer}/account`,
    'tokens-not-before': 0,
  };
}

export async function registerRealmDocument(app: FastifyInstance, deps: Deps): Promise<void> {
  const { findRealm, limits } = deps;

  async function handle(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return sendOauthError(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) {
      return sendOauthError(reply, 404, 'invalid_request', 'unknown user domain');
    }
    return reply
      .header('Cache-Control', `public, max-age=${cacheSeconds}`)
      .send(realmDocument(realm));
  }

  await app.register((scope, _options, done) => {
    scope.setErrorHandler(handleOauthError);
    scope.get('/auth/realms/:realm', handle);
    done();
  });
}
