// Browser sessions and other sign-ins of a user: starts, lists and ends them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/index.ts';
import type { AuthenticationMethod, User } from '../accounts/types.ts';
import {
  type OidcEntityStore,
  type StoredEntity,
  sessionModel,
} from '../infrastructure/oidc-entity-sql.ts';
import { browserSessionLifetime, type TokenFamilies } from '../tokens/refresh-token-families.ts';
import type {
  FamilySelection,
  TokenFamily,
  TokenFamilyKind,
} from '../tokens/refresh-token-family-sql.ts';
import { isUserSessionValid } from '../tokens/user-session-validity.ts';
import type { RealmProvider } from './realm-provider.ts';

/** Requests within this time after the last write do not extend the session again. */
const minExtensionMs = 60_000;

export type CurrentSession = {
  readonly sessionId: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly signedInAt: number;
  readonly methods: readonly AuthenticationMethod[];
};

/** A sign-in without a browser counts as a session. */
export type SessionSummary = {
  readonly sessionId: string;
  readonly kind: 'Browser' | Exclude<TokenFamilyKind, 'AuthorizationCode'>;
  readonly signedInAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
  readonly methods: readonly AuthenticationMethod[];
  readonly clientIds: readonly string[];
};

export type AuthenticatedUser = {
  readonly userId: string;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds, before the authentication was checked; default: now. */
  readonly provenAt?: number | undefined;
};
export type Sessions = ReturnType<typeof createSessions>;

type Deps = {
  entities: OidcEntityStore;
  families: TokenFamilies;
  clock: Clock;
  findRealmProvider(userDomainId: string): Promise<RealmProvider | undefined>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
};

type Payload = {
  uid: string;
  accountId: string;
  amr?: AuthenticationMethod[];
  loginTs: number;
};

/**
 * Seconds of oidc-provider with milliseconds as fraction: the order of a sign-in and the end of all
 * sessions can depend on them.
 */
export const toLoginTs = (ms: number): number => ms / 1000;
export const loginTsToMs = (loginTs: number): number => Math.round(loginTs * 1000);

/** Remaining lifetime: the idle timeout, limited by the maximum session length. */
export function remainingSessionSeconds(loginTs: number | undefined, now: number): number {
  const startedAt = loginTs === undefined ? now : loginTsToMs(loginTs);
  const endsAt = startedAt + browserSessionLifetime.maxMs;
  return Math.max(1, Math.floor(Math.min(browserSessionLifetime.idleMs, endsAt - now) / 1000));
}

function clientIdsOf(families: readonly TokenFamily[]): string[] {
  return [...new Set(families.map(({ clientId }) => clientId))];
}

function browserSessionSummary(
  entity: StoredEntity,
  families: readonly TokenFamily[],
): SessionSummary {
  const { uid, amr = [], loginTs } = entity.payload as Payload;
  const sessionFamilies = families.filter(({ sessionId }) => sessionId === uid);
  const expiresAt = entity.expiresAt ?? 0;
  const signedInAt = loginTsToMs(loginTs);
  const lastSeenAt = Math.max(signedInAt, expiresAt - browserSessionLifetime.idleMs);
  return {
    sessionId: uid,
    kind: 'Browser',
    signedInAt,
    lastSeenAt,
    expiresAt,
    methods: amr,
    clientIds: clientIdsOf(sessionFamilies),
  };
}

function familySummary(family: TokenFamily, kind: SessionSummary['kind']): SessionSummary {
  return {
    sessionId: family.familyId,
    kind,
    signedInAt: family.createdAt,
    lastSeenAt: family.refreshedAt,
    expiresAt: family.expiresAt,
    methods: family.context.methods,
    clientIds: [family.clientId],
  };
}

/** The state between two pages of an unfinished sign-in. */
export const loginStepModel = 'PageStep';

export function createSessions({ entities, families, clock, findRealmProvider, findUser }: Deps) {
  async function endFamilies(organizationId: string, ending: FamilySelection): Promise<void> {
    await families.end(organizationId, ending);
  }

  /**
   * Deletes the session and its codes first, so that no new family starts while the old ones end.
   */
  async function end(organizationId: string, userId: string, sessionId: string): Promise<void> {
    await entities.deleteOfAccount(organizationId, userId, clock.now(), { uid: sessionId });
    await endFamilies(organizationId, { userId, sessionId });
  }

  async function endAll(
    organizationId: string,
    userId: string,
    exceptSessionId?: string,
    keepsLoginSteps = false,
  ): Promise<void> {
    const now = clock.now();
    await entities.markSessionsEnded(organizationId, userId, now, exceptSessionId);
    await entities.deleteOfAccount(organizationId, userId, now, {
      exceptUid: exceptSessionId,
      exceptModel: keepsLoginSteps ? loginStepModel : undefined,
    });
    await endFamilies(organizationId, { userId, exceptSessionId });
  }

  async function current(
    userDomainId: string,
    raw: IncomingMessage,
    rawReply: ServerResponse,
  ): Promise<CurrentSession | undefined> {
    const realmProvider = await findRealmProvider(userDomainId);
    if (realmProvider === undefined) return undefined;
    const { provider, realm } = realmProvider;
    const session = await provider.Session.get(provider.createContext(raw, rawReply));
    const { accountId: userId, loginTs } = session;
    if (userId === undefined || loginTs === undefined) return undefined;
    const signedInAt = loginTsToMs(loginTs);
    if (!isUserSessionValid(await findUser(realm.organizationId, userId), signedInAt))
      return undefined;
    const now = clock.now();
    await entities.extendSession(realm.organizationId, {
      model: sessionModel,
      uid: session.uid,
      expiresAt: now + remainingSessionSeconds(loginTs, now) * 1000,
      minExtensionMs,
    });
    const methods = (session.amr ?? []) as AuthenticationMethod[];
    return { sessionId: session.uid, userId, signedInAt, methods };
  }

  return {
    current,
    end,
    endAll,
    endOthers: (organizationId: string, userId: string, exceptSessionId: string) =>
      endAll(organizationId, userId, exceptSessionId),

    /**
     * Starts a session for this browser and replaces an existing one; returns its id. Undefined if
     * the sessions of the user ended in the meantime.
     */
    async start(
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
      { userId, methods, provenAt }: AuthenticatedUser,
    ): Promise<string | undefined> {
      const realmProvider = await findRealmProvider(userDomainId);
      if (realmProvider === undefined) throw new Error('the realm of the session does not exist');
      const { provider, realm, cookies } = realmProvider;
      const { organizationId } = realm;
      const previous = await current(userDomainId, raw, rawReply);
      if (previous !== undefined) await end(organizationId, previous.userId, previous.sessionId);
      const session = new provider.Session();
      const now = clock.now();
      const loginTs = toLoginTs(provenAt ?? now);
      session.loginAccount({ accountId: userId, loginTs, amr: [...methods], transient: true });
      await session.save(remainingSessionSeconds(loginTs, now));
      // oidc-provider does not report whether the row was written.
      if ((await provider.Session.find(session.jti)) === undefined) return undefined;
      const context = provider.createContext(raw, rawReply);
      context.cookies.set(cookies.names?.session ?? '', session.jti, cookies.long);
      return session.uid;
    },

    /** Newest first. */
    async list(organizationId: string, userId: string): Promise<SessionSummary[]> {
      const [browsers, liveFamilies] = await Promise.all([
        entities.listOfAccount(organizationId, sessionModel, userId, clock.now()),
        families.list(organizationId, userId),
      ]);
      const passwordSessions = liveFamilies.flatMap((family) =>
        family.kind === 'AuthorizationCode' ? [] : [familySummary(family, family.kind)],
      );
      return [
        ...browsers.map((entity) => browserSessionSummary(entity, liveFamilies)),
        ...passwordSessions,
      ].sort((a, b) => b.signedInAt - a.signedInAt);
    },
  };
}
