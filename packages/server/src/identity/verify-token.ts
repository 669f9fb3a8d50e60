// Checks access tokens without asking anybody: the realm's own keys, and a cache of verdicts.
import { hash } from 'node:crypto';
import { Refusal } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Caller, Presented } from '../http/index.ts';
import type { Clock } from '../platform/index.ts';
import type { Applications } from './applications.ts';
import type { Realms } from './realms.ts';
import type { Revision } from './revision.ts';
import { createReadCaller } from './token-caller.ts';
import type { Realm, RealmKey } from './types.ts';

const cachedTokensMax = 10_000;
const tokenLengthMax = 8_192;
/**
 * With the 20 s that a realm and the 5 s that an application may be cached: what is switched off
 * in another process is refused here within a minute, in this process at once.
 */
const recheckAfterMs = 30_000;
/** Between the clocks of our own processes; an expired token has no such grace. */
const clockSkewSeconds = 5;

type Deps = { realms: Realms; applications: Applications; clock: Clock; revision: Revision };
type Verdict = {
  readonly caller: Caller;
  readonly answer: Promise<Caller>;
  readonly keyId: string;
  /** Thumbprint of the certificate that the token is bound to (RFC 8705). */
  readonly certificate: string | undefined;
  recheckAt: number;
  revision: number;
};
type Candidate = { readonly realm: Realm; readonly key: RealmKey };

/** What exactly is wrong is for the log: an answer would help only those who forge. */
const invalid = (logDetail: string) =>
  new Refusal('token_invalid', 'The access token is not valid.', { logDetail });
const expired = () => new Refusal('token_expired', 'The access token has expired.');

function certificateOf(payload: JWTPayload): string | undefined {
  const { cnf } = payload as { cnf?: Record<string, unknown> };
  return cnf === undefined ? undefined : String(cnf['x5t#S256']);
}

export function createVerifyToken({ realms, applications, clock, revision }: Deps) {
  const cache = new LRUCache<string, Verdict>({ max: cachedTokensMax });
  /** No longer than the requests under way. */
  const judging = new Map<string, Promise<Verdict>>();
  const readCaller = createReadCaller();

  async function findKey(token: string): Promise<Candidate> {
    let issuer: string | undefined;
    let keyId: string | undefined;
    try {
      keyId = decodeProtectedHeader(token).kid;
      issuer = decodeJwt(token).iss;
    } catch {
      throw invalid('not a JWT');
    }
    const realm = typeof issuer === 'string' ? await realms.findByIssuer(issuer) : undefined;
    if (realm === undefined) throw invalid('unknown issuer');
    const key = keyId === undefined ? undefined : realm.keys.get(keyId);
    if (key === undefined) throw invalid('unknown key');
    return { realm, key };
  }

  async function checkSignature(token: string, { realm, key }: Candidate): Promise<JWTPayload> {
    const now = clock.now();
    try {
      const { payload } = await jwtVerify(token, key.publicKey, {
        // The key decides the algorithm, never the token.
        algorithms: [key.algorithm],
        issuer: realm.issuer,
        typ: 'JWT',
        requiredClaims: ['exp', 'nbf', 'jti', 'sub'],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now),
      });
      if (Number(payload.exp) * 1000 <= now) throw expired();
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw expired();
      if (error instanceof errors.JOSEError) throw invalid(error.code);
      throw error;
    }
  }

  async function checkStanding(realm: Realm | undefined, caller: Caller, keyId: string) {
    if (realm === undefined || !realm.keys.has(keyId)) throw invalid('realm or key retired');
    if (realm.revoked.has(caller.tokenId)) throw invalid('revoked');
    const application = await applications.find(caller.organizationId, caller.clientId);
    if (application?.status !== 'Enabled') throw invalid('application disabled');
  }

  async function judge(token: string, digest: string): Promise<Verdict> {
    const revisionBefore = revision.current();
    const candidate = await findKey(token);
    const payload = await checkSignature(token, candidate);
    const caller = readCaller(payload, candidate.realm);
    await checkStanding(candidate.realm, caller, candidate.key.keyId);
    const verdict: Verdict = {
      caller,
      answer: Promise.resolve(caller),
      keyId: candidate.key.keyId,
      certificate: certificateOf(payload),
      recheckAt: Math.min(clock.now() + recheckAfterMs, caller.expiresAt),
      revision: revisionBefore,
    };
    cache.set(digest, verdict);
    return verdict;
  }

  async function judgeAgain(verdict: Verdict, digest: string): Promise<Verdict> {
    const { caller } = verdict;
    const revisionBefore = revision.current();
    try {
      if (clock.now() >= caller.expiresAt) throw expired();
      await checkStanding(await realms.find(caller.realm), caller, verdict.keyId);
    } catch (error) {
      cache.delete(digest);
      throw error;
    }
    verdict.revision = revisionBefore;
    verdict.recheckAt = Math.min(clock.now() + recheckAfterMs, caller.expiresAt);
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

  function checkCertificate(verdict: Verdict, presented: Presented | undefined): Caller {
    const { certificate, caller } = verdict;
    if (certificate !== undefined && certificate !== presented?.certificateThumbprint()) {
      throw invalid('bound to another certificate');
    }
    return caller;
  }

  return function verifyToken(token: string, presented?: Presented): Promise<Caller> {
    if (token.length > tokenLengthMax) return Promise.reject(invalid('too long'));
    const digest = hash('sha256', token, 'base64url');
    const known = cache.get(digest);
    if (known !== undefined && isFresh(known) && known.certificate === undefined) {
      return known.answer;
    }
    const verdict =
      known === undefined
        ? judgeOnce(token, digest)
        : isFresh(known)
          ? Promise.resolve(known)
          : judgeAgain(known, digest);
    return verdict.then((found) => checkCertificate(found, presented));
  };
}
