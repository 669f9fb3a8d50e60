// Passkeys as a second factor (WebAuthn): register, verify after the password, remove.
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Clock, Database, Ids, Log } from '../../../platform/index.ts';
import { hashSecret } from '../../infrastructure/secret-hash.ts';
import type { EmailOutbox } from '../emails/email-outbox.ts';
import type { AttemptOrigin, User } from '../types.ts';
import {
  type ChallengePurpose,
  createPasskeyStore,
  deletePasskey,
  insertPasskey,
  type StoredPasskey,
} from './passkey-sql.ts';
import { enableSecondFactor, lockUserForSetUp } from './second-factor-sql.ts';

/** How long a user may take to use the passkey. */
const challengeLifetimeMs = 300_000;
const maxPasskeysPerUser = 10;
const maxNameLength = 64;
const defaultName = 'Passkey';
/** WebAuthn allows 1,023 bytes. */
const maxCredentialIdLength = 1_364;
const maxPublicKeyBytes = 2_048;
const maxTransports = 8;
/** ES256, EdDSA, RS256: the algorithms of current authenticators. */
const supportedAlgorithms = [-7, -8, -257];

/** Three hundred modules, a seventh of the start-up time: loaded with the first passkey. */
const loadWebAuthn = () => import('@simplewebauthn/server');

/** The site as browsers know it: `id` is its host name, `origin` has scheme and port. */
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
   * False if the signature is wrong, the challenge expired, or sessions were ended since the challenge,
   * except `currentSessionId`. Turns the second factor on.
   */
  register(
    user: User,
    response: unknown,
    rp: RelyingParty,
    name?: string,
    currentSessionId?: string,
  ): Promise<boolean>;
  authenticationOptions(
    user: User,
    rp: RelyingParty,
  ): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /** The second step of a sign-in after a right password: counted and recorded like the first step. */
  authenticate(
    user: User,
    response: unknown,
    rp: RelyingParty,
    origin: AttemptOrigin,
  ): Promise<boolean>;
  /** Without the last factor, the user must set one up at the next sign-in. False if there is no such passkey. */
  remove(user: User, credentialId: string): Promise<boolean>;
};

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly outbox: EmailOutbox;
  /** Counts and records the second step of a sign-in; false if the user is locked or disabled. */
  completeSignIn(user: User, isProven: boolean, origin: AttemptOrigin): Promise<boolean>;
  invalidateUser(organizationId: string, userId: string): void;
};

export function createPasskeys(deps: Deps): Passkeys {
  const { database, clock, ids, log, outbox } = deps;
  const store = createPasskeyStore(database);

  async function createChallenge(
    user: User,
    purpose: ChallengePurpose,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const challenge = ids.secret();
    const expiresAt = clock.now() + challengeLifetimeMs;
    await store.insertChallenge(user, hashSecret(challenge), purpose, expiresAt);
    return toUint8Array(Buffer.from(challenge, 'base64url'));
  }

  /** Uses the challenge that the response signs up; undefined if it is unknown, used or expired. */
  async function consumeChallenge(
    user: User,
    response: unknown,
    purpose: ChallengePurpose,
  ): Promise<{ challenge: string; issuedAt: number } | undefined> {
    const challenge = readChallenge(response);
    if (challenge === undefined) return undefined;
    const now = clock.now();
    const expiresAt = await store.consumeChallenge(user, hashSecret(challenge), purpose, now);
    return expiresAt === undefined
      ? undefined
      : { challenge, issuedAt: expiresAt - challengeLifetimeMs };
  }

  /** The library throws on invalid responses; invalid input of a client is not a server error. */
  async function undefinedOnError<Result>(
    verification: Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await verification;
    } catch (error) {
      log.info({ err: error }, 'a passkey response was rejected');
      return undefined;
    }
  }

  async function isValidResponse(
    user: User,
    response: unknown,
    rp: RelyingParty,
  ): Promise<boolean> {
    const issued = await consumeChallenge(user, response, 'sign-in');
    if (issued === undefined) return false;
    const authentication = response as AuthenticationResponseJSON;
    const passkey = (await store.list(user)).find(
      ({ credentialId }) => credentialId === authentication.id,
    );
    if (passkey === undefined) return false;
    const { credentialId, publicKey, counter } = passkey;
    const { verifyAuthenticationResponse } = await loadWebAuthn();
    const checked = await undefinedOnError(
      verifyAuthenticationResponse({
        response: authentication,
        expectedChallenge: issued.challenge,
        expectedOrigin: rp.origin,
        expectedRPID: rp.id,
        credential: { id: credentialId, publicKey: toUint8Array(publicKey), counter },
        requireUserVerification: false,
      }),
    );
    if (checked?.verified !== true) return false;
    const { newCounter } = checked.authenticationInfo;
    return store.updateCounter(user, credentialId, newCounter, clock.now());
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
      const { generateRegistrationOptions } = await loadWebAuthn();
      return generateRegistrationOptions({
        rpName: rp.name,
        rpID: rp.id,
        userName: user.username,
        userID: toUint8Array(Buffer.from(user.userId)),
        challenge: await createChallenge(user, 'register'),
        timeout: challengeLifetimeMs,
        attestationType: 'none',
        excludeCredentials: passkeys.map(toCredentialDescriptor),
        // The password is checked too: the passkey needs neither to be discoverable nor to ask for a PIN.
        authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
        supportedAlgorithmIDs: supportedAlgorithms,
      });
    },

    async register(user, response, rp, name = defaultName, currentSessionId) {
      const issued = await consumeChallenge(user, response, 'register');
      if (issued === undefined) return false;
      const { verifyRegistrationResponse } = await loadWebAuthn();
      const checked = await undefinedOnError(
        verifyRegistrationResponse({
          response: response as RegistrationResponseJSON,
          expectedChallenge: issued.challenge,
          expectedOrigin: rp.origin,
          expectedRPID: rp.id,
          requireUserVerification: false,
          supportedAlgorithmIDs: supportedAlgorithms,
        }),
      );
      if (checked?.verified !== true) return false;
      const { id, publicKey, counter, transports } = checked.registrationInfo.credential;
      if (id.length > maxCredentialIdLength || publicKey.length > maxPublicKeyBytes) return false;
      const now = clock.now();
      const passkey = {
        credentialId: id,
        publicKey: Buffer.from(publicKey),
        counter,
        transports: parseTransports(transports),
        name: cleanName(name),
        createdAt: now,
      };
      const isSaved = await database.transaction(async (trx) => {
        const conditions = { since: issued.issuedAt, currentSessionId };
        if (!(await lockUserForSetUp(trx, user, conditions))) return false;
        if (!(await insertPasskey(trx, user, passkey, maxPasskeysPerUser))) return false;
        await enableSecondFactor(trx, user, now);
        await outbox.enqueueNotice(trx, user, 'second-factor-set');
        return true;
      });
      if (!isSaved) return false;
      outbox.wakeJobs();
      deps.invalidateUser(user.organizationId, user.userId);
      return true;
    },

    async authenticationOptions(user, rp) {
      const passkeys = await store.list(user);
      const { generateAuthenticationOptions } = await loadWebAuthn();
      return generateAuthenticationOptions({
        rpID: rp.id,
        allowCredentials: passkeys.map(toCredentialDescriptor),
        challenge: await createChallenge(user, 'sign-in'),
        timeout: challengeLifetimeMs,
        userVerification: 'preferred',
      });
    },

    async authenticate(user, response, rp, origin) {
      return deps.completeSignIn(user, await isValidResponse(user, response, rp), origin);
    },

    async remove(user, credentialId) {
      const now = clock.now();
      const isRemoved = await database.transaction((trx) =>
        deletePasskey(trx, user, credentialId, now),
      );
      if (isRemoved) deps.invalidateUser(user.organizationId, user.userId);
      return isRemoved;
    },
  };
}

function toCredentialDescriptor({ credentialId, transports }: StoredPasskey) {
  return { id: credentialId, transports: [...transports] };
}

/** Hints from the client: ignores everything that is not a word. */
function parseTransports(transports: unknown): string[] {
  const listed: unknown[] = Array.isArray(transports) ? transports : [];
  const words = listed.filter((transport): transport is string => typeof transport === 'string');
  return words.filter((word) => /^[a-z-]{1,32}$/.test(word)).slice(0, maxTransports);
}

/** Copies to a separate buffer, as the types of the library require. */
function toUint8Array(bytes: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

function cleanName(name: string): string {
  const plain = name
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, maxNameLength)
    .toWellFormed();
  return plain === '' ? defaultName : plain;
}

function readChallenge(response: unknown): string | undefined {
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
