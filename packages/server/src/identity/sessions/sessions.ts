// The sessions of browsers, and what else a user is signed in to: looked at, begun, ended.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/index.ts';
import type { Method, User } from '../accounts/types.ts';
import {
  type EntityStore,
  type FoundEntity,
  sessionModel,
} from '../infrastructure/oidc-entity-sql.ts';
import { browserLifetime, type Families } from '../tokens/refresh-token-families.ts';
import type { Ending, Family, FamilyKind } from '../tokens/refresh-token-family-sql.ts';
import { isStanding } from '../tokens/user-session-validity.ts';
import type { RealmProvider } from './realm-provider.ts';

/** A click within this time of the last one is not worth a write. */
const touchMs = 60_000;

export type CurrentSession = {
  readonly sessionId: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly signedInAt: number;
  readonly methods: readonly Method[];
};

/** A sign-in without a browser is a session of its own. */
export type SessionFacts = {
  readonly sessionId: string;
  readonly kind: 'Browser' | Exclude<FamilyKind, 'AuthorizationCode'>;
  readonly signedInAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
  readonly methods: readonly Method[];
  readonly clientIds: readonly string[];
};

export type SignedInUser = {
  readonly userId: string;
  readonly methods: readonly Method[];
  /** Epoch milliseconds, of before it was proven; left out: now. */
  readonly provenAt?: number | undefined;
};
export type Sessions = ReturnType<typeof createSessions>;

type Deps = {
  entities: EntityStore;
  families: Families;
  clock: Clock;
  providerOf(userDomainId: string): Promise<RealmProvider | undefined>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
};

type Payload = {
  uid: string;
  accountId: string;
  amr?: Method[];
  loginTs: number;
};

/**
 * The library's seconds, with the milliseconds as their fraction: whether a sign-in came before
 * all were ended or after is a matter of less than a second.
 */
export const loginTsOf = (ms: number): number => ms / 1000;
export const msOf = (loginTs: number): number => Math.round(loginTs * 1000);

/** How long a session lives on from now: idle for a while, and never longer than a day's work. */
export function sessionSeconds(loginTs: number | undefined, now: number): number {
  const begun = loginTs === undefined ? now : msOf(loginTs);
  const endsAt = begun + browserLifetime.longestMs;
  return Math.max(1, Math.floor(Math.min(browserLifetime.idleMs, endsAt - now) / 1000));
}

function clientsOf(families: readonly Family[]): string[] {
  return [...new Set(families.map(({ clientId }) => clientId))];
}

function browserFacts(found: FoundEntity, families: readonly Family[]): SessionFacts {
  const { uid, amr = [], loginTs } = found.payload as Payload;
  const own = families.filter(({ sessionId }) => sessionId === uid);
  const expiresAt = found.expiresAt ?? 0;
  const signedInAt = msOf(loginTs);
  const lastSeenAt = Math.max(signedInAt, expiresAt - browserLifetime.idleMs);
  return {
    sessionId: uid,
    kind: 'Browser',
    signedInAt,
    lastSeenAt,
    expiresAt,
    methods: amr,
    clientIds: clientsOf(own),
  };
}

function directFacts(family: Family, kind: SessionFacts['kind']): SessionFacts {
  return {
    sessionId: family.familyId,
    kind,
    signedInAt: family.createdAt,
    lastSeenAt: family.refreshedAt,
    expiresAt: family.expiresAt,
    methods: family.facts.methods,
    clientIds: [family.clientId],
  };
}

/** Between two pages of a sign-in that is not over. */
export const pageStepModel = 'PageStep';

export function createSessions({ entities, families, clock, providerOf, findUser }: Deps) {
  async function endFamilies(organizationId: string, ending: Ending): Promise<void> {
    await families.end(organizationId, ending);
  }

  /** Codes and the session first: nobody begins another family while the old ones end. */
  async function end(organizationId: string, userId: string, sessionId: string): Promise<void> {
    await entities.destroyOfAccount(organizationId, userId, clock.now(), { uid: sessionId });
    await endFamilies(organizationId, { userId, sessionId });
  }

  async function endAll(
    organizationId: string,
    userId: string,
    exceptSessionId?: string,
    keepsUnfinished = false,
  ): Promise<void> {
    const at = clock.now();
    await entities.closeAccount(organizationId, userId, at, exceptSessionId);
    await entities.destroyOfAccount(organizationId, userId, at, {
      exceptUid: exceptSessionId,
      exceptModel: keepsUnfinished ? pageStepModel : undefined,
    });
    await endFamilies(organizationId, { userId, exceptSessionId });
  }

  async function current(
    userDomainId: string,
    raw: IncomingMessage,
    rawReply: ServerResponse,
  ): Promise<CurrentSession | undefined> {
    const found = await providerOf(userDomainId);
    if (found === undefined) return undefined;
    const { provider, realm } = found;
    const session = await provider.Session.get(provider.createContext(raw, rawReply));
    const { accountId: userId, loginTs } = session;
    if (userId === undefined || loginTs === undefined) return undefined;
    const signedInAt = msOf(loginTs);
    if (!isStanding(await findUser(realm.organizationId, userId), signedInAt)) return undefined;
    const now = clock.now();
    await entities.touch(realm.organizationId, {
      model: sessionModel,
      uid: session.uid,
      expiresAt: now + sessionSeconds(loginTs, now) * 1000,
      leastMs: touchMs,
    });
    const methods = (session.amr ?? []) as Method[];
    return { sessionId: session.uid, userId, signedInAt, methods };
  }

  return {
    current,
    end,
    endAll,
    endOthers: (organizationId: string, userId: string, keptSessionId: string) =>
      endAll(organizationId, userId, keptSessionId),

    /**
     * A new session of this browser, in place of the one that it may have; answers its id. Undefined
     * where all that the user had proven was ended meanwhile: then there is none.
     */
    async start(
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
      { userId, methods, provenAt }: SignedInUser,
    ): Promise<string | undefined> {
      const found = await providerOf(userDomainId);
      if (found === undefined) throw new Error('a session in a realm that does not exist');
      const { provider, realm, cookies } = found;
      const { organizationId } = realm;
      const before = await current(userDomainId, raw, rawReply);
      if (before !== undefined) await end(organizationId, before.userId, before.sessionId);
      const session = new provider.Session();
      const now = clock.now();
      const loginTs = loginTsOf(provenAt ?? now);
      session.loginAccount({ accountId: userId, loginTs, amr: [...methods], transient: true });
      await session.save(sessionSeconds(loginTs, now));
      // The library does not tell whether it was kept.
      if ((await provider.Session.find(session.jti)) === undefined) return undefined;
      const context = provider.createContext(raw, rawReply);
      context.cookies.set(cookies.names?.session ?? '', session.jti, cookies.long);
      return session.uid;
    },

    /** Newest first. */
    async list(organizationId: string, userId: string): Promise<SessionFacts[]> {
      const [browsers, carriedOn] = await Promise.all([
        entities.listOfAccount(organizationId, sessionModel, userId, clock.now()),
        families.list(organizationId, userId),
      ]);
      const direct = carriedOn.flatMap((family) =>
        family.kind === 'AuthorizationCode' ? [] : [directFacts(family, family.kind)],
      );
      return [...browsers.map((found) => browserFacts(found, carriedOn)), ...direct].sort(
        (a, b) => b.signedInAt - a.signedInAt,
      );
    },
  };
}
