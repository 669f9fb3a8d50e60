// The configuration of oidc-provider: paths, cookies, lifetimes, login policy.
import { type Configuration, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { OidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { signInPath, signInTimeoutSeconds } from '../../sessions/login-interactions.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { loginTsToMs, remainingSessionSeconds } from '../../sessions/sessions.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import type { PageRenderer } from '../rendered-pages.ts';
import { scopes } from '../scopes.ts';
import { callbackErrorMember, webOriginsMember } from './client-metadata.ts';
import { createStorageAdapter } from './storage-adapter.ts';

/** The paths of Keycloak below the issuer, which many clients have built in. */
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

/** The only prompt is `login`; it repeats if the user of the session was disabled. */
function loginPolicy() {
  const { base, Check } = interactionPolicy;
  const prompts = base();
  prompts.remove('consent');
  prompts
    .get('login')
    ?.checks.add(
      new Check(
        'no_account',
        'the user is disabled or signed out',
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
    /**
     * A new grant for each request, which is not stored; its id becomes the id of the refresh-token
     * family.
     */
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

/** Only for the discovery document: oidc-provider itself writes none of these claims. */
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

/** Browser routes show a page; all others answer JSON, with any Accept header. */
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
  // oidc-provider signs with the first suitable key.
  const ordered = new Set([signing.ES256, signing.RS256, ...keys.values()]);
  return {
    ...sessionConfiguration(input),
    adapter: createStorageAdapter({ entities, clock, organizationId: realm.organizationId }),
    jwks: { keys: [...ordered].map((key) => key.privateJwk) },
    // No method that needs the secret itself: the platform stores its hash only.
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
      // The platform's own pages, such as the API reference: browsers send their origin too.
      if (origin === new URL(realm.issuer).origin) return true;
      const origins = client[webOriginsMember];
      return Array.isArray(origins) && origins.includes(origin);
    },
    renderError: (ctx, out) => renderError(ctx, out, input),
  };
}
