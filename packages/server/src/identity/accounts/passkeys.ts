// Passkeys as a second factor (WebAuthn): registered, asked for behind a right password, taken back.
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Clock, Database, Ids, Log } from '../../platform/index.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import { holdSettingUp, turnFactorOn } from './factor-store.ts';
import {
  type ChallengePurpose,
  createPasskeyStore,
  deletePasskey,
  insertPasskey,
  type StoredPasskey,
} from './passkey-store.ts';
import type { Post } from './post.ts';
import type { Origin, User } from './types.ts';

/** How long a person may look for the key. */
const challengeMs = 300_000;
const passkeysMax = 10;
const nameCharsMax = 64;
const defaultName = 'Passkey';
/** WebAuthn allows 1,023 bytes. */
const credentialIdCharsMax = 1_364;
const publicKeyBytesMax = 2_048;
const transportsMax = 8;
/** ES256, EdDSA, RS256: what today's authenticators have. */
const algorithms = [-7, -8, -257];

/** Three hundred modules, a seventh of a start: loaded where a passkey is used. */
const webAuthn = () => import('@simplewebauthn/server');

/** The site as browsers know it: `id` is its host name, `origin` with scheme and port. */
export type RelyingParty = {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
};

export type Passkey = Pick<StoredPasskey, 'credentialId' | 'name' | 'createdAt' | 'lastUsedAt'>;

export type Passkeys = {
  list(user: User): Promise<Passkey[]>;
  registrationOptions(
    user: User,
    rp: RelyingParty,
  ): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /**
   * False: not signed by what was asked, too late, or sessions were ended since it was asked, but for
   * `keptSessionId`. The second factor is on from here.
   */
  register(
    user: User,
    response: unknown,
    rp: RelyingParty,
    name?: string,
    keptSessionId?: string,
  ): Promise<boolean>;
  authenticationOptions(
    user: User,
    rp: RelyingParty,
  ): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /** The second half of a sign-in whose password was right: it counts and is recorded like the first. */
  authenticate(user: User, response: unknown, rp: RelyingParty, origin: Origin): Promise<boolean>;
  /** The last factor gone, one has to be set up at the next sign-in. False: no such passkey. */
  remove(user: User, credentialId: string): Promise<boolean>;
};

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly post: Post;
  /** Counts and records the second half of a sign-in; false where the user is locked or off. */
  settle(user: User, isProven: boolean, origin: Origin): Promise<boolean>;
  changed(organizationId: string, userId: string): void;
};

export function createPasskeys(deps: Deps): Passkeys {
  const { database, clock, ids, log, post } = deps;
  const store = createPasskeyStore(database);

  async function newChallenge(
    user: User,
    purpose: ChallengePurpose,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const challenge = ids.secret();
    const expiresAt = clock.now() + challengeMs;
    await store.keepChallenge(user, hashSecret(challenge), purpose, expiresAt);
    return bytesOf(Buffer.from(challenge, 'base64url'));
  }

  /** The challenge that the answer signs, if it is one of ours that nobody has used. */
  async function takeChallenge(
    user: User,
    response: unknown,
    purpose: ChallengePurpose,
  ): Promise<{ challenge: string; askedAt: number } | undefined> {
    const challenge = challengeIn(response);
    if (challenge === undefined) return undefined;
    const now = clock.now();
    const expiresAt = await store.takeChallenge(user, hashSecret(challenge), purpose, now);
    return expiresAt === undefined ? undefined : { challenge, askedAt: expiresAt - challengeMs };
  }

  /** The library throws at whatever does not fit: what clients send is no fault of ours. */
  async function orUndefined<Result>(verified: Promise<Result>): Promise<Result | undefined> {
    try {
      return await verified;
    } catch (error) {
      log.info({ err: error }, 'a passkey was not accepted');
      return undefined;
    }
  }

  async function isSigned(user: User, response: unknown, rp: RelyingParty): Promise<boolean> {
    const taken = await takeChallenge(user, response, 'sign-in');
    if (taken === undefined) return false;
    const answer = response as AuthenticationResponseJSON;
    const passkey = (await store.list(user)).find(({ credentialId }) => credentialId === answer.id);
    if (passkey === undefined) return false;
    const { credentialId, publicKey, counter } = passkey;
    const { verifyAuthenticationResponse } = await webAuthn();
    const checked = await orUndefined(
      verifyAuthenticationResponse({
        response: answer,
        expectedChallenge: taken.challenge,
        expectedOrigin: rp.origin,
        expectedRPID: rp.id,
        credential: { id: credentialId, publicKey: bytesOf(publicKey), counter },
        requireUserVerification: false,
      }),
    );
    if (checked?.verified !== true) return false;
    const { newCounter } = checked.authenticationInfo;
    return store.count(user, credentialId, newCounter, clock.now());
  }

  return {
    async list(user) {
      const passkeys = await store.list(user);
      return passkeys.map(({ credentialId, name, createdAt, lastUsedAt }) => ({
        credentialId,
        name,
        createdAt,
        lastUsedAt,
      }));
    },

    async registrationOptions(user, rp) {
      const passkeys = await store.list(user);
      const { generateRegistrationOptions } = await webAuthn();
      return generateRegistrationOptions({
        rpName: rp.name,
        rpID: rp.id,
        userName: user.username,
        userID: bytesOf(Buffer.from(user.userId)),
        challenge: await newChallenge(user, 'register'),
        timeout: challengeMs,
        attestationType: 'none',
        excludeCredentials: passkeys.map(described),
        // The password stands beside it: the key need neither be found without a name nor ask for a PIN.
        authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
        supportedAlgorithmIDs: algorithms,
      });
    },

    async register(user, response, rp, name = defaultName, keptSessionId) {
      const taken = await takeChallenge(user, response, 'register');
      if (taken === undefined) return false;
      const { verifyRegistrationResponse } = await webAuthn();
      const checked = await orUndefined(
        verifyRegistrationResponse({
          response: response as RegistrationResponseJSON,
          expectedChallenge: taken.challenge,
          expectedOrigin: rp.origin,
          expectedRPID: rp.id,
          requireUserVerification: false,
          supportedAlgorithmIDs: algorithms,
        }),
      );
      if (checked?.verified !== true) return false;
      const { id, publicKey, counter, transports } = checked.registrationInfo.credential;
      if (id.length > credentialIdCharsMax || publicKey.length > publicKeyBytesMax) return false;
      const at = clock.now();
      const passkey = {
        credentialId: id,
        publicKey: Buffer.from(publicKey),
        counter,
        transports: transportsIn(transports),
        name: nameOf(name),
        createdAt: at,
      };
      const isKept = await database.transaction(async (trx) => {
        const asked = { since: taken.askedAt, keptSessionId };
        if (!(await holdSettingUp(trx, user, asked))) return false;
        if (!(await insertPasskey(trx, user, passkey, passkeysMax))) return false;
        await turnFactorOn(trx, user, at);
        await post.notice(trx, user, 'second-factor-set');
        return true;
      });
      if (!isKept) return false;
      post.poke();
      deps.changed(user.organizationId, user.userId);
      return true;
    },

    async authenticationOptions(user, rp) {
      const passkeys = await store.list(user);
      const { generateAuthenticationOptions } = await webAuthn();
      return generateAuthenticationOptions({
        rpID: rp.id,
        allowCredentials: passkeys.map(described),
        challenge: await newChallenge(user, 'sign-in'),
        timeout: challengeMs,
        userVerification: 'preferred',
      });
    },

    async authenticate(user, response, rp, origin) {
      return deps.settle(user, await isSigned(user, response, rp), origin);
    },

    async remove(user, credentialId) {
      const at = clock.now();
      const isGone = await database.transaction((trx) =>
        deletePasskey(trx, user, credentialId, at),
      );
      if (isGone) deps.changed(user.organizationId, user.userId);
      return isGone;
    },
  };
}

function described({ credentialId, transports }: StoredPasskey) {
  return { id: credentialId, transports: [...transports] };
}

/** Hints, which the client made: whatever is no word is left out. */
function transportsIn(transports: unknown): string[] {
  const listed: unknown[] = Array.isArray(transports) ? transports : [];
  const words = listed.filter((each): each is string => typeof each === 'string');
  return words.filter((word) => /^[a-z-]{1,32}$/.test(word)).slice(0, transportsMax);
}

/** Of a buffer of its own, as the library's types want it. */
function bytesOf(bytes: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

function nameOf(name: string): string {
  const plain = name
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, nameCharsMax)
    .toWellFormed();
  return plain === '' ? defaultName : plain;
}

function challengeIn(response: unknown): string | undefined {
  const { response: inner } = (response ?? {}) as { response?: { clientDataJSON?: unknown } };
  if (typeof inner?.clientDataJSON !== 'string') return undefined;
  try {
    const data: unknown = JSON.parse(Buffer.from(inner.clientDataJSON, 'base64url').toString());
    const { challenge } = (data ?? {}) as { challenge?: unknown };
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined;
  }
}
