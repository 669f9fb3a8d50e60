// Manages portal sessions: start by sign-in, renewal by user activity, and fixed end (ADR 0063).
import { hash } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import {
  browserSessionLifetime,
  type PortalAuthorization,
  type PortalSignIn,
  type PortalTokens,
} from '../../identity/index.ts';
import {
  type Clock,
  type Database,
  decryptBytes,
  deriveKey,
  encryptBytes,
  type Ids,
  lruCacheOptions,
  type Queries,
} from '../../platform/index.ts';
import {
  createSessionStore,
  type Renewed,
  type SessionKey,
  type StoredSession,
} from './session-store.ts';

/** How long another process may take to notice a sign-out. */
const rememberedMs = 5_000;
const rememberedMax = 10_000;
/** The server stores the activity of a user at most once in this time. */
const touchMs = 60_000;
/** A token must be valid for this time, so that it does not expire during a request. */
const marginMs = 30_000;
const organizationBytes = 16;
const secretBytes = 32;
const cookieForm = /^[\w-]{64}$/;

export const idleMs = browserSessionLifetime.idleMs;

export type PortalSession = Omit<StoredSession, 'tokensSealed'> & { readonly tokens: PortalTokens };

/** `background`: the page polls by itself, which is no activity of the user. */
export type SessionActivity = 'active' | 'background';

export type Sessions = ReturnType<typeof createSessions>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  /** 32 bytes; the server derives the key of the stored tokens from it. */
  readonly masterKey: Buffer;
  readonly identity: { readonly portalAuthorization: PortalAuthorization };
};

type StartedSession = { readonly cookie: string; readonly session: PortalSession };

/** Every key begins with the organisation, so the cookie names it before the 256 random bits. */
function cookieOf(organizationId: string, secret: Buffer): string {
  const organization = Buffer.from(organizationId.replaceAll('-', ''), 'hex');
  return Buffer.concat([organization, secret]).toString('base64url');
}

/** Returns undefined if the text is not a portal cookie. */
export function parseSessionCookie(cookie: string): SessionKey | undefined {
  if (!cookieForm.test(cookie)) return undefined;
  const bytes = Buffer.from(cookie, 'base64url');
  const hex = bytes.subarray(0, organizationBytes).toString('hex');
  const organizationId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { organizationId, sessionHash: hash('sha256', bytes, 'buffer') };
}

const cacheKey = ({ organizationId, sessionHash }: SessionKey): string =>
  `${organizationId} ${sessionHash.toString('base64url')}`;

const encryptionContext = ({ organizationId, sessionHash }: SessionKey): string =>
  `portal_sessions ${cacheKey({ organizationId, sessionHash })}`;

const throwSessionEnded = (): never =>
  throwProblem('token_expired', 'The session has ended: sign in again.');

export function createSessions({ database, clock, ids, masterKey, identity }: Deps) {
  const store = createSessionStore(database);
  const key = deriveKey(masterKey, 'portal-sessions');
  const remembered = new LRUCache<string, PortalSession>({
    ...lruCacheOptions(rememberedMax),
    ttl: rememberedMs,
    ttlResolution: 0,
    perf: clock,
  });
  /** The names of the sessions that this process has found, for the idle time of a session. */
  const foundSessions = new LRUCache<string, true>({
    ...lruCacheOptions(rememberedMax),
    ttl: idleMs,
    ttlResolution: 0,
    perf: clock,
  });
  /** Contains only the renewals in progress. */
  const renewing = new Map<string, Promise<PortalSession>>();

  const sealedOf = (at: SessionKey, tokens: PortalTokens): Buffer =>
    encryptBytes(key, Buffer.from(JSON.stringify(tokens)), encryptionContext(at));

  function opened({ tokensSealed, ...session }: StoredSession): PortalSession {
    const text = decryptBytes(key, tokensSealed, encryptionContext(session)).toString();
    return { ...session, tokens: JSON.parse(text) as PortalTokens };
  }

  function remember(stored: StoredSession): PortalSession {
    const session = opened(stored);
    remembered.set(cacheKey(session), session);
    foundSessions.set(cacheKey(session), true);
    return session;
  }

  function drop(at: SessionKey): void {
    remembered.delete(cacheKey(at));
    foundSessions.delete(cacheKey(at));
  }

  async function find(at: SessionKey): Promise<PortalSession | undefined> {
    const cached = remembered.get(cacheKey(at));
    if (cached !== undefined) return cached;
    const stored = await store.find(at);
    if (stored !== undefined) return remember(stored);
    drop(at);
    return undefined;
  }

  async function end(at: SessionKey, recordAudit: (trx: Queries) => Promise<void>) {
    drop(at);
    const stored = await store.remove(at, recordAudit);
    if (stored === undefined) return;
    const { userDomainId, tokens } = opened(stored);
    await identity.portalAuthorization.signOut(userDomainId, tokens.refreshToken);
  }

  const endQuietly = (at: SessionKey) => end(at, async () => {});

  async function renewOnce(
    session: PortalSession,
    activity: SessionActivity,
  ): Promise<PortalSession> {
    const { userDomainId, tokens, generation } = session;
    const renewTokens = await identity.portalAuthorization.prepareRefresh(
      userDomainId,
      tokens.refreshToken,
    );
    let isOver = false;
    const stored = await store.renew(session, async (trx, stored): Promise<Renewed | undefined> => {
      isOver = false;
      // Another process renewed the session first, so this process uses that result.
      if (stored.generation !== generation) return undefined;
      const next = await renewTokens?.(trx);
      isOver = next === undefined;
      if (next === undefined) return undefined;
      const now = clock.now();
      const expiresAt =
        activity === 'active' ? Math.min(now + idleMs, stored.endsAt) : stored.expiresAt;
      return { tokensSealed: sealedOf(session, next), renewedAt: now, expiresAt };
    });
    if (stored !== undefined && !isOver) return remember(stored);
    await endQuietly(session);
    return throwSessionEnded();
  }

  /** Parallel requests share one renewal; between processes, the row lock decides. */
  function renew(session: PortalSession, activity: SessionActivity): Promise<PortalSession> {
    const name = cacheKey(session);
    const running = renewing.get(name);
    if (running !== undefined) return running;
    const started = renewOnce(session, activity).finally(() => renewing.delete(name));
    renewing.set(name, started);
    return started;
  }

  return {
    end,

    /** Ends only this session; other sign-ins of the browser continue. */
    async forget(at: SessionKey): Promise<void> {
      drop(at);
      await store.remove(at, async () => {});
    },

    /** Returns the session and its cookie; `recordAudit` is the last statement of the transaction. */
    async begin(
      { tokens, signInId, ...signIn }: PortalSignIn,
      origin: string,
      recordAudit: (trx: Queries, session: PortalSession) => Promise<void>,
    ): Promise<StartedSession> {
      const { organizationId } = signIn;
      const secret = Buffer.from(ids.secret(secretBytes), 'base64url');
      const cookie = cookieOf(organizationId, secret);
      const at = parseSessionCookie(cookie) ?? throwSessionEnded();
      const now = clock.now();
      const session = {
        ...signIn,
        ...at,
        signInId,
        origin,
        tokens,
        sessionId: ids.uuidV4(),
        generation: 1,
        createdAt: now,
        renewedAt: now,
        expiresAt: Math.min(now + idleMs, signIn.endsAt),
      };
      await database.transaction(async (trx) => {
        await store.insert(trx, { ...session, tokensSealed: sealedOf(at, tokens) });
        await recordAudit(trx, session);
      });
      foundSessions.set(cacheKey(at), true);
      return { cookie, session };
    },

    /** True if this process has found the session and knows of no end; `use` is then cheap. */
    isKnown: (at: SessionKey): boolean => foundSessions.has(cacheKey(at)),

    /**
     * Returns an active session with tokens that stay valid for a while. Activity of the user
     * extends the session, at most once a minute.
     *
     * @throws ProblemError `token_expired` if the session has ended
     */
    async use(at: SessionKey, activity: SessionActivity): Promise<PortalSession> {
      const session = (await find(at)) ?? throwSessionEnded();
      const now = clock.now();
      if (now >= session.expiresAt || now >= session.endsAt) {
        // The cache may lack a renewal by another process.
        remembered.delete(cacheKey(at));
        const fresh = await find(at);
        if (fresh !== undefined && now < fresh.expiresAt && now < fresh.endsAt) return fresh;
        await endQuietly(at);
        return throwSessionEnded();
      }
      const wouldEndAt = Math.min(now + idleMs, session.endsAt);
      const isTouched = activity === 'active' && wouldEndAt - session.expiresAt >= touchMs;
      const isStale = now + marginMs >= session.tokens.accessExpiresAt;
      return isTouched || isStale ? renew(session, activity) : session;
    },

    deleteEnded: (limit: number) => store.deleteEnded(clock.now(), limit),
  };
}
