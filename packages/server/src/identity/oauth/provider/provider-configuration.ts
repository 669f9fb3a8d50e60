// What the library is told: endpoints, cookies, times, who signs in where.
import { type Configuration, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { OidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import { signInPath, signInTimeoutSeconds } from '../../sessions/login-interactions.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { loginTsToMs, remainingSessionSeconds } from '../../sessions/sessions.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import type { PageRenderer } from '../rendered-pages.ts';
import { scopes } from '../scopes.ts';
import { callbackErrorMember, webOriginsMember } from './client-metadata.ts';
import { createStorageAdapter } from './storage-adapter.ts';

/** Keycloak's paths below the issuer, which clients in this field have built in. */
export const providerPaths = {
  authorization: '/protocol/openid-connect/auth',
  token: '/protocol/openid-connect/token',
  introspection: '/protocol/openid-connect/token/introspect',
  revocation: '/protocol/openid-connect/revoke',
  jwks: '/protocol/openid-connect/certs',
  discovery: '/.well-known/openid-configuration',
} as const;

const codeSeconds = 60;

type ConfigurationInput = {
  readonly realm: Realm;
  readonly entities: OidcEntityStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly pageRenderer: PageRenderer;
  readonly cookies: RealmProvider['cookies'];
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
};

/** One question to the person, and it comes again where the session's user may not go on. */
function loginPolicy() {
  const { base, Check } = interactionPolicy;
  const prompts = base();
  prompts.remove('consent');
  prompts
    .get('login')
    ?.checks.add(
      new Check(
        'no_account',
        'the user may not go on',
        ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
      ),
    );
  return prompts;
}

function sessionConfiguration({ realm, clock, ids, findUser }: ConfigurationInput): Configuration {
  return {
    interactions: {
      policy: loginPolicy(),
      url: (_ctx, interaction) => signInPath(realm.userDomainId, interaction.uid),
    },
    async findAccount(ctx, accountId) {
      const begunAt = loginTsToMs(ctx.oidc.session?.loginTs ?? 0);
      const user = await findUser(realm.organizationId, accountId);
      if (!isUserSessionValid(user, begunAt)) return undefined;
      return { accountId, claims: () => ({ sub: accountId }) };
    },
    /** Of each request its own, kept nowhere: its id becomes that of the family of tokens. */
    async loadExistingGrant(ctx) {
      const { account, client, provider, requestParamOIDCScopes } = ctx.oidc;
      if (account === undefined || client === undefined) return undefined;
      const { accountId } = account;
      const grant = new provider.Grant({ accountId, clientId: client.clientId });
      grant.jti = ids.uuidV4();
      grant.addOIDCScope([...requestParamOIDCScopes].join(' '));
      return grant;
    },
    expiresWithSession: () => false,
    ttl: {
      AuthorizationCode: codeSeconds,
      Interaction: signInTimeoutSeconds,
      Session: (_ctx, session) => remainingSessionSeconds(session.loginTs, clock.now()),
    },
  };
}

/** For the discovery document: the library itself writes none of these. */
const discoveryClaims = {
  openid: ['sub', 'sid', 'auth_time', 'nonce', 'at_hash'],
  profile: [
    'name',
    'given_name',
    'family_name',
    'preferred_username',
    'zoneinfo',
    'locale',
    'datetimeformat',
    'user_domain',
    'groups',
    'entityId',
    'um_scope',
    'permissions',
  ],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
  auth: ['device_type', 'device_id', 'method', '2fa'],
};

const pageRoutes: ReadonlySet<string> = new Set(['authorization', 'resume']);

/** People get a page; a program gets JSON, also one that sends a browser's Accept header. */
function renderError(
  ctx: KoaContextWithOIDC,
  out: object,
  { pageRenderer, realm }: ConfigurationInput,
): void {
  if (!pageRoutes.has(ctx.oidc.route)) {
    ctx.body = out;
    return;
  }
  const { error, error_description: description } = out as Record<string, string>;
  const page = pageRenderer.errorPage(ctx.req, {
    error: error ?? 'server_error',
    description,
    status: ctx.status,
    requestId: String(ctx.res.getHeader('x-request-id') ?? ''),
    realm: realm.userDomainId,
  });
  ctx.set({ ...page.headers });
  ctx.body = page.html;
}

export function providerConfiguration(input: ConfigurationInput): Configuration {
  const { realm, entities, clock, cookies } = input;
  const { signing, keys } = realm;
  // The library signs with the first key that fits.
  const ordered = new Set([signing.ES256, signing.RS256, ...keys.values()]);
  return {
    ...sessionConfiguration(input),
    adapter: createStorageAdapter({ entities, clock, organizationId: realm.organizationId }),
    jwks: { keys: [...ordered].map((key) => key.privateJwk) },
    // No method with a key derived from the secret: we have its hash alone.
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    responseTypes: ['code'],
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' },
    cookies,
    scopes,
    claims: discoveryClaims,
    routes: providerPaths,
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    extraClientMetadata: { properties: [webOriginsMember, callbackErrorMember] },
    clientBasedCORS: (_ctx, origin, client) => {
      // Our own pages, such as the API reference: browsers send the origin there too.
      if (origin === new URL(realm.issuer).origin) return true;
      const origins = client[webOriginsMember];
      return Array.isArray(origins) && origins.includes(origin);
    },
    renderError: (ctx, out) => renderError(ctx, out, input),
  };
}
