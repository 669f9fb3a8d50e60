/** A session: the profile of this command, its tokens and its API client. */

import { type ApiClient, createApiClient, type TokenSource } from '../http/api-client.ts';
import { createTransport, type Transport } from '../http/https-transport.ts';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import { readInputFile } from './private-files.ts';
import { openProfiles, type Profile, readClientSecret } from './profiles.ts';
import { requestToken } from './token-request.ts';
import { openTokenStore } from './token-store.ts';

export type SessionOptions = {
  readonly profile?: string | undefined;
  readonly timeoutMs: number;
  /** The organisation below in which the commands act. */
  readonly organizationId?: string | undefined;
};

/** The claims of the access token, for display only: the server verifies the token. */
export type Claims = {
  readonly subject: string | undefined;
  readonly name: string | undefined;
  readonly userDomain: string | undefined;
  readonly entityId: string | undefined;
  readonly entityType: string | undefined;
  readonly permissions: readonly string[];
  readonly expiresAt: string | undefined;
};

export type Session = {
  readonly profileName: string;
  readonly profile: Profile;
  readonly api: ApiClient;
  /** The organisation in which the commands act: from --organization, else from the token. */
  organizationId(): Promise<string>;
  claims(): Promise<Claims>;
  token(): Promise<string>;
  /** Signs in with a grant of RFC 6749, such as a password, and saves the token. */
  signIn(grant: Readonly<Record<string, string>>): Promise<unknown>;
  deleteTokens(): void;
  close(): void;
};

const environmentName = 'environment';

/** A profile from environment variables alone, such as for continuous integration. */
function profileFromEnvironment({ env }: RuntimeEnvironment): Profile | undefined {
  const url = env['SWITCHYARD_CLI_URL'];
  if (url === undefined || url === '') return undefined;
  const requireVariable = (name: string) =>
    env[name] || fail('usage', `SWITCHYARD_CLI_URL is set, but ${name} is not. Set both.`);
  const file = env['SWITCHYARD_CLI_CLIENT_SECRET_FILE'];
  const caFile = env['SWITCHYARD_CLI_CA_FILE'];
  return {
    url,
    authUrl: env['SWITCHYARD_CLI_AUTH_URL'] || url,
    userDomainId: requireVariable('SWITCHYARD_CLI_USER_DOMAIN'),
    clientId: requireVariable('SWITCHYARD_CLI_CLIENT_ID'),
    ...(caFile ? { caFile } : {}),
    secret: file
      ? { kind: 'File', file }
      : { kind: 'Stored', value: requireVariable('SWITCHYARD_CLI_CLIENT_SECRET') },
  };
}

function chooseProfile(
  environment: RuntimeEnvironment,
  requestedProfile: string | undefined,
): { name: string; profile: Profile } {
  const requestedName = requestedProfile ?? environment.env['SWITCHYARD_CLI_PROFILE'];
  if (requestedName === undefined || requestedName === '') {
    const profile = profileFromEnvironment(environment);
    if (profile !== undefined) return { name: environmentName, profile };
  }
  const profiles = openProfiles(environment);
  const name = requestedName || profiles.current();
  if (name === undefined) {
    return fail('notSignedIn', 'You are not signed in.', 'Sign in: switchyard login --help');
  }
  const profile = profiles.find(name);
  if (profile !== undefined) return { name, profile };
  const names = profiles.names().join(', ') || 'none';
  return fail('usage', `There is no profile “${name}”.`, `Saved profiles: ${names}`);
}

export function decodeClaims(token: string): Claims {
  const [, payload = ''] = token.split('.');
  let claims: Readonly<Record<string, unknown>> = {};
  try {
    claims = membersOf(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch {
    // An opaque or invalid token; the server rejects it.
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const scope = membersOf(claims['um_scope']);
  const { exp, permissions } = claims;
  return {
    subject: text(claims['sub']),
    name: text(claims['preferred_username']) ?? text(claims['client_id']),
    userDomain: text(claims['user_domain']),
    entityId: text(scope['entityId']) ?? text(claims['entityId']),
    entityType: text(scope['entityType']),
    permissions: Array.isArray(permissions) ? permissions.map(String) : [],
    expiresAt: typeof exp === 'number' ? new Date(exp * 1000).toISOString() : undefined,
  };
}

type Tokens = TokenSource & {
  /** Requests a token with a grant of the user and saves it. */
  requestAndSave(grant: Readonly<Record<string, string>>): Promise<string>;
  deleteTokens(): void;
};

function createTokens(
  environment: RuntimeEnvironment,
  transport: Transport,
  profile: Profile,
): Tokens {
  const { clock } = environment;
  const store = openTokenStore(environment, profile);
  const validToken = () => {
    const stored = store.read();
    return stored !== undefined && stored.expiresAt > clock.now() ? stored.accessToken : undefined;
  };
  async function requestAndSave(grant: Readonly<Record<string, string>>): Promise<string> {
    const newToken = await requestToken(transport, profile, grant, clock.now());
    store.save(newToken);
    return newToken.accessToken;
  }
  async function refreshAccessToken(rejectedToken: string | undefined): Promise<string> {
    return store.withLock(async () => {
      const stored = store.read();
      // Another process may have refreshed the token while this one waited for the lock.
      if (
        stored !== undefined &&
        stored.accessToken !== rejectedToken &&
        stored.expiresAt > clock.now()
      )
        return stored.accessToken;
      if (stored?.refreshToken === undefined)
        return fail('notSignedIn', 'You are not signed in.', 'Sign in again: switchyard login');
      const { refreshToken } = stored;
      return requestAndSave({ grant_type: 'refresh_token', refresh_token: refreshToken });
    });
  }
  async function requestNewToken(): Promise<string> {
    const secret = readClientSecret(profile);
    if (secret === undefined) return refreshAccessToken(store.read()?.accessToken);
    return requestAndSave({ grant_type: 'client_credentials', client_secret: secret });
  }
  let pendingToken: Promise<string> | undefined;
  return {
    async get(forceRefresh) {
      const stored = forceRefresh ? undefined : validToken();
      if (stored !== undefined) return stored;
      // Concurrent requests share one token request.
      pendingToken ??= requestNewToken().finally(() => {
        pendingToken = undefined;
      });
      return pendingToken;
    },
    requestAndSave,
    deleteTokens: store.deleteTokens,
  };
}

/** A session of a profile that need not be saved, such as during `login`. */
export function createSession(
  environment: RuntimeEnvironment,
  profileName: string,
  profile: Profile,
  { timeoutMs, organizationId }: SessionOptions,
): Session {
  const ca = profile.caFile === undefined ? undefined : readInputFile(profile.caFile);
  const transport = createTransport({ ca, timeoutMs });
  const tokens = createTokens(environment, transport, profile);
  const { clock, stopping } = environment;
  const token = async () => (await tokens.get(false)) ?? '';
  const claims = async () => decodeClaims(await token());
  return {
    profileName,
    profile,
    api: createApiClient({
      baseUrl: profile.url,
      transport,
      tokens,
      clock,
      stopping,
      organizationId,
    }),
    async organizationId() {
      if (organizationId !== undefined) return organizationId;
      const { entityId, entityType } = await claims();
      if (entityId !== undefined && entityType === 'tenant') return entityId;
      return fail(
        'notPermitted',
        'This command needs an organisation, but you are signed in for one merchant. Sign in with an application of the organisation.',
      );
    },
    claims,
    token,
    signIn: tokens.requestAndSave,
    deleteTokens: tokens.deleteTokens,
    close: transport.close,
  };
}

/** @example const session = openSession(environment, { timeoutMs: 30_000 }); */
export function openSession(environment: RuntimeEnvironment, options: SessionOptions): Session {
  const { name, profile } = chooseProfile(environment, options.profile);
  return createSession(environment, name, profile, options);
}
