// Verifies access tokens locally, with the keys of the realm and a cache of verified tokens.
import { hash } from 'node:crypto';
import { ProblemError } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Caller, PresentedCertificate } from '../../http/index.ts';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';
import type { User } from '../accounts/types.ts';
import type { AccessTokenType } from '../clients/application-record.ts';
import type { Applications } from '../clients/applications.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import type { Realm, RealmKey } from '../realms-and-keys/realm-types.ts';
import type { Realms } from '../realms-and-keys/realms.ts';
import {
  type AccessTokenClaims,
  createCallerFactory,
  readAccessTokenClaims,
} from './caller-from-token.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import { isUserSessionValid } from './user-session-validity.ts';

const maxCachedTokens = 10_000;
const maxTokenLength = 8_192;
/** A JWK thumbprint (RFC 7638), the form of all key ids of the platform. */
const keyIdForm = /^[A-Za-z0-9_-]{43}$/;
/**
 * Together with the cache times of realms (20 s), applications and users (5 s): other processes
 * refuse tokens of disabled users and applications within a minute, this process at once.
 */
const recheckAfterMs = 30_000;
/** Tolerance for `nbf` and `iat` between the platform's processes; expiry has no tolerance. */
const clockSkewSeconds = 30;

type Deps = {
  realms: Pick<Realms, 'find' | 'findByIssuer'>;
  revocations: Pick<RevokedTokens, 'findReason'>;
  applications: Pick<Applications, 'find'>;
  /** Cached: called for every token that this process has not seen before. */
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  clock: Clock;
  changeCounter: ChangeCounter;
  /** Called when a token is checked, not for every call with a cached token. */
  recordUse(organizationId: string, clientId: string): void;
};
type CachedToken = {
  readonly realm: string;
  readonly claims: AccessTokenClaims;
  readonly keyId: string;
  caller: Promise<Caller>;
  recheckAt: number;
  changeCount: number;
};
type SigningKeyMatch = { readonly realm: Realm; readonly key: RealmKey };

/** Both header types are accepted; the claim `typ` separates access tokens from others. */
const headerTypes: ReadonlySet<unknown> = new Set<AccessTokenType>(['JWT', 'at+jwt']);

/** The exact reason goes to the log only; in a response it would help attackers. */
const invalid = (logDetail: string) =>
  new ProblemError('token_invalid', 'The access token is not valid.', { logDetail });
const expired = () => new ProblemError('token_expired', 'The access token has expired.');

export function createAccessTokenVerifier(deps: Deps) {
  const { realms, revocations, applications, findUser, clock, changeCounter, recordUse } = deps;
  const cache = new LRUCache<string, CachedToken>(lruCacheOptions(maxCachedTokens));
  /** Entries live as long as the check runs. */
  const pendingChecks = new Map<string, Promise<CachedToken>>();
  const callerFactory = createCallerFactory();

  async function findKey(token: string): Promise<SigningKeyMatch> {
    let issuer: string | undefined;
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
      issuer = decodeJwt(token).iss;
    } catch {
      throw invalid('not a JWT');
    }
    // Check the key id first: an unknown realm costs a database query each time.
    if (typeof keyId !== 'string' || !keyIdForm.test(keyId)) throw invalid('malformed key id');
    const realm = typeof issuer === 'string' ? await realms.findByIssuer(issuer) : undefined;
    if (realm === undefined) throw invalid('unknown issuer');
    const key = realm.keys.get(keyId);
    if (key === undefined) throw invalid('unknown key');
    return { realm, key };
  }

  async function checkSignature(
    token: string,
    { realm, key }: SigningKeyMatch,
  ): Promise<JWTPayload> {
    const now = clock.now();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key.publicKey, {
        // The key determines the algorithm, never the token.
        algorithms: [key.algorithm],
        issuer: realm.issuer,
        requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now),
      });
      if (!headerTypes.has(protectedHeader.typ)) throw invalid('unknown typ in the header');
      if (Number(payload.exp) * 1000 <= now) throw expired();
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw expired();
      if (error instanceof errors.JOSEError) throw invalid(error.code);
      throw error;
    }
  }

  async function findCaller(
    realm: Realm | undefined,
    token: AccessTokenClaims,
    keyId: string,
  ): Promise<Caller> {
    if (realm === undefined || !realm.keys.has(keyId)) throw invalid('realm or key retired');
    const { organizationId } = realm;
    const reason = await revocations.findReason(realm, token);
    if (reason !== undefined) throw invalid(reason);
    const application = await applications.find(organizationId, token.clientId);
    if (application?.status !== 'Enabled') throw invalid('application disabled');
    if (application.serviceAccountId === token.subject) {
      recordUse(organizationId, token.clientId);
      return { ...callerFactory.machineCaller(token, realm), keyId };
    }
    const user = await findUser(organizationId, token.subject);
    if (!isUserSessionValid(user, token.issuedAt))
      throw invalid('the user is disabled, or its sessions have ended');
    recordUse(organizationId, token.clientId);
    return { ...callerFactory.userCaller(token, realm, user), keyId };
  }

  async function checkNewToken(token: string, digest: string): Promise<CachedToken> {
    const changeCountBefore = changeCounter.current();
    const keyMatch = await findKey(token);
    const claims = readAccessTokenClaims(await checkSignature(token, keyMatch));
    const { realm, key } = keyMatch;
    const caller = await findCaller(realm, claims, key.keyId);
    const cachedToken: CachedToken = {
      realm: realm.userDomainId,
      claims,
      keyId: key.keyId,
      caller: Promise.resolve(caller),
      recheckAt: Math.min(clock.now() + recheckAfterMs, claims.expiresAt),
      changeCount: changeCountBefore,
    };
    cache.set(digest, cachedToken);
    return cachedToken;
  }

  async function recheckToken(cachedToken: CachedToken, digest: string): Promise<CachedToken> {
    const { claims, realm, keyId } = cachedToken;
    const changeCountBefore = changeCounter.current();
    try {
      if (clock.now() >= claims.expiresAt) throw expired();
      const caller = await findCaller(await realms.find(realm), claims, keyId);
      cachedToken.caller = Promise.resolve(caller);
    } catch (error) {
      cache.delete(digest);
      throw error;
    }
    cachedToken.changeCount = changeCountBefore;
    cachedToken.recheckAt = Math.min(clock.now() + recheckAfterMs, claims.expiresAt);
    return cachedToken;
  }

  /** Concurrent requests with the same new token share one verification. */
  function checkNewTokenOnce(token: string, digest: string): Promise<CachedToken> {
    const running = pendingChecks.get(digest);
    if (running !== undefined) return running;
    const started = checkNewToken(token, digest).finally(() => pendingChecks.delete(digest));
    pendingChecks.set(digest, started);
    return started;
  }

  const isFresh = (cachedToken: CachedToken) =>
    clock.now() < cachedToken.recheckAt && cachedToken.changeCount === changeCounter.current();

  async function checkCertificate(
    { claims, caller }: CachedToken,
    presented: PresentedCertificate | undefined,
  ): Promise<Caller> {
    const { certificate } = claims;
    if (certificate !== undefined && certificate !== (await presented?.thumbprint())) {
      throw invalid('bound to another certificate');
    }
    return caller;
  }

  function verify(
    token: string,
    digest: string,
    presented?: PresentedCertificate,
  ): Promise<Caller> {
    const cached = cache.get(digest);
    if (cached !== undefined && isFresh(cached) && cached.claims.certificate === undefined) {
      return cached.caller;
    }
    const checked =
      cached === undefined
        ? checkNewTokenOnce(token, digest)
        : isFresh(cached)
          ? Promise.resolve(cached)
          : recheckToken(cached, digest);
    return checked.then((cachedToken) => checkCertificate(cachedToken, presented));
  }

  function prepared(token: string): (presented?: PresentedCertificate) => Promise<Caller> {
    if (token.length > maxTokenLength) return () => Promise.reject(invalid('too long'));
    const digest = hash('sha256', token, 'base64url');
    return (presented) => verify(token, digest, presented);
  }

  function verifyToken(token: string, presented?: PresentedCertificate): Promise<Caller> {
    if (token.length > maxTokenLength) return Promise.reject(invalid('too long'));
    return verify(token, hash('sha256', token, 'base64url'), presented);
  }

  const knows = (token: string): boolean =>
    token.length <= maxTokenLength && cache.has(hash('sha256', token, 'base64url'));

  return Object.assign(verifyToken, { prepare: prepared, isVerified: knows });
}
