// Checks access tokens without asking anybody: the realm's own keys, and a cache of verdicts.
import { hash } from 'node:crypto';
import { Refusal } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Caller, Presented } from '../../http/index.ts';
import { atMost, type Clock } from '../../platform/index.ts';
import type { User } from '../accounts/types.ts';
import type { AccessTokenType } from '../clients/application.ts';
import type { Applications } from '../clients/applications.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import type { Realm, RealmKey } from '../realms-and-keys/realm.ts';
import type { Realms } from '../realms-and-keys/realms.ts';
import { createCallers, readToken, type TokenFacts } from './caller-from-token.ts';
import type { Revocations } from './revoked-tokens.ts';
import { isStanding } from './user-session-validity.ts';

const cachedTokensMax = 10_000;
const tokenLengthMax = 8_192;
/** A thumbprint of RFC 7638, as all our keys have one. */
const keyIdForm = /^[A-Za-z0-9_-]{43}$/;
/**
 * With the 20 s that a realm and the 5 s that an application or a user may be cached: what is
 * switched off in another process is refused here within a minute, in this process at once.
 */
const recheckAfterMs = 30_000;
/** Between the clocks of our own processes; an expired token has no such grace. */
const clockSkewSeconds = 30;

type Deps = {
  realms: Pick<Realms, 'find' | 'findByIssuer'>;
  revocations: Pick<Revocations, 'reasonOf'>;
  applications: Pick<Applications, 'find'>;
  /** Remembered for a moment: it is asked for each token that is seen for the first time. */
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  clock: Clock;
  revision: Revision;
  /** An application came with a good token: told when the token is looked at, and not with each call. */
  noteUse(organizationId: string, clientId: string): void;
};
type Verdict = {
  readonly realm: string;
  readonly token: TokenFacts;
  readonly keyId: string;
  answer: Promise<Caller>;
  recheckAt: number;
  revision: number;
};
type Candidate = { readonly realm: Realm; readonly key: RealmKey };

/** As applications are set to; whichever it is, the claim `typ` tells access tokens from others. */
const headerTypes: ReadonlySet<unknown> = new Set<AccessTokenType>(['JWT', 'at+jwt']);

/** What exactly is wrong is for the log: an answer would help only those who forge. */
const invalid = (logDetail: string) =>
  new Refusal('token_invalid', 'The access token is not valid.', { logDetail });
const expired = () => new Refusal('token_expired', 'The access token has expired.');

export function createVerifyToken(deps: Deps) {
  const { realms, revocations, applications, findUser, clock, revision, noteUse } = deps;
  const cache = new LRUCache<string, Verdict>(atMost(cachedTokensMax));
  /** No longer than the requests under way. */
  const judging = new Map<string, Promise<Verdict>>();
  const callers = createCallers();

  async function findKey(token: string): Promise<Candidate> {
    let issuer: string | undefined;
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
      issuer = decodeJwt(token).iss;
    } catch {
      throw invalid('not a JWT');
    }
    // First what costs nothing: a realm that is not there is looked for in the database each time.
    if (typeof keyId !== 'string' || !keyIdForm.test(keyId)) throw invalid('no key of ours');
    const realm = typeof issuer === 'string' ? await realms.findByIssuer(issuer) : undefined;
    if (realm === undefined) throw invalid('unknown issuer');
    const key = realm.keys.get(keyId);
    if (key === undefined) throw invalid('unknown key');
    return { realm, key };
  }

  async function checkSignature(token: string, { realm, key }: Candidate): Promise<JWTPayload> {
    const now = clock.now();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key.publicKey, {
        // The key decides the algorithm, never the token.
        algorithms: [key.algorithm],
        issuer: realm.issuer,
        requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now),
      });
      if (!headerTypes.has(protectedHeader.typ)) throw invalid('another typ in the header');
      if (Number(payload.exp) * 1000 <= now) throw expired();
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw expired();
      if (error instanceof errors.JOSEError) throw invalid(error.code);
      throw error;
    }
  }

  async function callerOf(
    realm: Realm | undefined,
    token: TokenFacts,
    keyId: string,
  ): Promise<Caller> {
    if (realm === undefined || !realm.keys.has(keyId)) throw invalid('realm or key retired');
    const { organizationId } = realm;
    const reason = await revocations.reasonOf(realm, token);
    if (reason !== undefined) throw invalid(reason);
    const application = await applications.find(organizationId, token.clientId);
    if (application?.status !== 'Enabled') throw invalid('application disabled');
    if (application.serviceAccountId === token.subject) {
      noteUse(organizationId, token.clientId);
      return { ...callers.ofMachine(token, realm), keyId };
    }
    const user = await findUser(organizationId, token.subject);
    if (!isStanding(user, token.issuedAt)) throw invalid('the user is not in');
    noteUse(organizationId, token.clientId);
    return { ...callers.ofUser(token, realm, user), keyId };
  }

  async function judge(text: string, digest: string): Promise<Verdict> {
    const revisionBefore = revision.current();
    const candidate = await findKey(text);
    const token = readToken(await checkSignature(text, candidate));
    const { realm, key } = candidate;
    const caller = await callerOf(realm, token, key.keyId);
    const verdict: Verdict = {
      realm: realm.userDomainId,
      token,
      keyId: key.keyId,
      answer: Promise.resolve(caller),
      recheckAt: Math.min(clock.now() + recheckAfterMs, token.expiresAt),
      revision: revisionBefore,
    };
    cache.set(digest, verdict);
    return verdict;
  }

  async function judgeAgain(verdict: Verdict, digest: string): Promise<Verdict> {
    const { token, realm, keyId } = verdict;
    const revisionBefore = revision.current();
    try {
      if (clock.now() >= token.expiresAt) throw expired();
      const caller = await callerOf(await realms.find(realm), token, keyId);
      verdict.answer = Promise.resolve(caller);
    } catch (error) {
      cache.delete(digest);
      throw error;
    }
    verdict.revision = revisionBefore;
    verdict.recheckAt = Math.min(clock.now() + recheckAfterMs, token.expiresAt);
    return verdict;
  }

  /** Callers that come at once with a token nobody has seen share one verification. */
  function judgeOnce(token: string, digest: string): Promise<Verdict> {
    const running = judging.get(digest);
    if (running !== undefined) return running;
    const started = judge(token, digest).finally(() => judging.delete(digest));
    judging.set(digest, started);
    return started;
  }

  const isFresh = (verdict: Verdict) =>
    clock.now() < verdict.recheckAt && verdict.revision === revision.current();

  async function checkCertificate(
    { token, answer }: Verdict,
    presented: Presented | undefined,
  ): Promise<Caller> {
    const { certificate } = token;
    if (certificate !== undefined && certificate !== (await presented?.certificateThumbprint())) {
      throw invalid('bound to another certificate');
    }
    return answer;
  }

  function verify(token: string, digest: string, presented?: Presented): Promise<Caller> {
    const known = cache.get(digest);
    if (known !== undefined && isFresh(known) && known.token.certificate === undefined) {
      return known.answer;
    }
    const verdict =
      known === undefined
        ? judgeOnce(token, digest)
        : isFresh(known)
          ? Promise.resolve(known)
          : judgeAgain(known, digest);
    return verdict.then((found) => checkCertificate(found, presented));
  }

  function prepared(token: string): (presented?: Presented) => Promise<Caller> {
    if (token.length > tokenLengthMax) return () => Promise.reject(invalid('too long'));
    const digest = hash('sha256', token, 'base64url');
    return (presented) => verify(token, digest, presented);
  }

  function verifyToken(token: string, presented?: Presented): Promise<Caller> {
    if (token.length > tokenLengthMax) return Promise.reject(invalid('too long'));
    return verify(token, hash('sha256', token, 'base64url'), presented);
  }

  const knows = (token: string): boolean =>
    token.length <= tokenLengthMax && cache.has(hash('sha256', token, 'base64url'));

  return Object.assign(verifyToken, { prepared, knows });
}
