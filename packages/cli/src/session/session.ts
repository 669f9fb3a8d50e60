/** Who is signed in for this command, and the API in his name. */

import { type Api, createApi, type Tokens } from '../http/api-client.ts';
import { createTransport, type Transport } from '../http/https-transport.ts';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';
import { readNamed } from './private-files.ts';
import { openProfiles, type Profile, secretOf } from './profiles.ts';
import { clientCredentials, refreshing, requestToken } from './token-request.ts';
import { openTokenStore } from './token-store.ts';

export type SessionOptions = {
  readonly profile?: string | undefined;
  readonly timeoutMs: number;
  /** An organisation below, to act in. */
  readonly organizationId?: string | undefined;
};

/** What the token says of its owner; nobody trusts it here, the server checks it. */
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
  readonly api: Api;
  /** In which organisation the commands act, as far as the token or an option says. */
  organizationId(): Promise<string>;
  claims(): Promise<Claims>;
  token(): Promise<string>;
  forget(): void;
  close(): void;
};

const environmentName = 'environment';

/** Without any profile: everything from variables, as continuous integration wants it. */
function profileOfEnvironment({ env }: World): Profile | undefined {
  const url = env['SWITCHYARD_CLI_URL'];
  if (url === undefined || url === '') return undefined;
  const needed = (name: string) =>
    env[name] || fail('usage', `SWITCHYARD_CLI_URL is set, and ${name} is not.`);
  const file = env['SWITCHYARD_CLI_CLIENT_SECRET_FILE'];
  const caFile = env['SWITCHYARD_CLI_CA_FILE'];
  return {
    url,
    authUrl: env['SWITCHYARD_CLI_AUTH_URL'] || url,
    userDomainId: needed('SWITCHYARD_CLI_USER_DOMAIN'),
    clientId: needed('SWITCHYARD_CLI_CLIENT_ID'),
    ...(caFile ? { caFile } : {}),
    secret: file
      ? { kind: 'File', file }
      : { kind: 'Stored', value: needed('SWITCHYARD_CLI_CLIENT_SECRET') },
  };
}

function chooseProfile(
  world: World,
  wanted: string | undefined,
): { name: string; profile: Profile } {
  const named = wanted ?? world.env['SWITCHYARD_CLI_PROFILE'];
  if (named === undefined || named === '') {
    const profile = profileOfEnvironment(world);
    if (profile !== undefined) return { name: environmentName, profile };
  }
  const profiles = openProfiles(world);
  const name = named || profiles.current();
  if (name === undefined) {
    return fail('notSignedIn', 'Nobody is signed in.', 'Start with: switchyard login --help');
  }
  const profile = profiles.find(name);
  if (profile !== undefined) return { name, profile };
  const names = profiles.names().join(', ') || 'none';
  return fail('usage', `There is no profile “${name}”.`, `Known profiles: ${names}`);
}

export function claimsOf(token: string): Claims {
  const [, payload = ''] = token.split('.');
  let claims: Readonly<Record<string, unknown>> = {};
  try {
    claims = membersOf(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch {
    // Not a token of ours; the server will say so.
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

function createTokens(
  world: World,
  transport: Transport,
  profile: Profile,
): Tokens & { forget(): void } {
  const { clock } = world;
  const store = openTokenStore(world, profile);
  const good = () => {
    const kept = store.read();
    return kept !== undefined && kept.expiresAt > clock.now() ? kept.accessToken : undefined;
  };
  async function refreshed(before: string | undefined): Promise<string> {
    return store.alone(async () => {
      const kept = store.read();
      // Another process may have been here while this one waited.
      if (kept !== undefined && kept.accessToken !== before && kept.expiresAt > clock.now())
        return kept.accessToken;
      if (kept?.refreshToken === undefined)
        return fail('notSignedIn', 'Nobody is signed in.', 'Sign in again: switchyard login');
      const granted = await requestToken(
        transport,
        profile,
        refreshing(profile, kept.refreshToken),
        clock.now(),
      );
      store.keep(granted);
      return granted.accessToken;
    });
  }
  async function granted(): Promise<string> {
    const secret = secretOf(profile);
    if (secret === undefined) return refreshed(store.read()?.accessToken);
    const found = await requestToken(
      transport,
      profile,
      clientCredentials(profile, secret),
      clock.now(),
    );
    store.keep(found);
    return found.accessToken;
  }
  let asking: Promise<string> | undefined;
  return {
    async get(fresh) {
      const kept = fresh ? undefined : good();
      if (kept !== undefined) return kept;
      // Many requests at once ask for one token.
      asking ??= granted().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget: store.forget,
  };
}

/** A session of a profile that need not be kept, as `login` needs it. */
export function sessionOf(
  world: World,
  profileName: string,
  profile: Profile,
  { timeoutMs, organizationId }: SessionOptions,
): Session {
  const ca = profile.caFile === undefined ? undefined : readNamed(profile.caFile);
  const transport = createTransport({ ca, timeoutMs });
  const tokens = createTokens(world, transport, profile);
  const { clock, stopping } = world;
  const token = async () => (await tokens.get(false)) ?? '';
  const claims = async () => claimsOf(await token());
  return {
    profileName,
    profile,
    api: createApi({ baseUrl: profile.url, transport, tokens, clock, stopping, organizationId }),
    async organizationId() {
      if (organizationId !== undefined) return organizationId;
      const { entityId, entityType } = await claims();
      if (entityId !== undefined && entityType === 'tenant') return entityId;
      return fail('notPermitted', 'This is for an organisation, and you act for one merchant.');
    },
    claims,
    token,
    forget: tokens.forget,
    close: transport.close,
  };
}

/** @example const session = openSession(world, { timeoutMs: 30_000 }); */
export function openSession(world: World, options: SessionOptions): Session {
  const { name, profile } = chooseProfile(world, options.profile);
  return sessionOf(world, name, profile, options);
}
