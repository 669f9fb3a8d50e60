// The door of accounts: the people of a user domain, and everything that they prove themselves with.
import { refuse } from '@switchyard/contract';
import type { Clock, Database, Ids, Log } from '../../platform/index.ts';
import { createCachedLookup } from '../cached-lookup.ts';
import type { Revision } from '../revision.ts';
import type { Status } from '../types.ts';
import { type AttemptLimits, createAttemptLimits, defaultAttemptLimits } from './attempt-limits.ts';
import { makeUser } from './new-user.ts';
import { createOneTimePasswords, readOtpSecret } from './one-time-passwords.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { usernameKey } from './rules.ts';
import { createSignIn } from './sign-in.ts';
import { createSignInStore } from './sign-in-store.ts';
import { createUserStore } from './store.ts';
import type { Attempt, NewUser, NotSignedIn, SignedIn, User } from './types.ts';

export type {
  Attempt,
  Method,
  NewUser,
  NotSignedIn,
  Origin,
  SecondFactor,
  SignedIn,
  User,
} from './types.ts';

/** How long another process may take to see what changed of a user. */
export const userTtlMs = 5_000;
const cachedUsersMax = 10_000;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type AccountsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly environment: string;
  readonly revision: Revision;
  /** Ends the user's sessions and refresh families, but that of `exceptSessionId`. */
  endSessions(organizationId: string, userId: string, exceptSessionId?: string): Promise<void>;
  readonly limits?: AttemptLimits | undefined;
  /** Left out: argon2id; a test may count. */
  readonly passwords?: Passwords | undefined;
};

export type Accounts = {
  /** Rejects with a Refusal `already_exists` or `field_invalid`. */
  create(user: NewUser): Promise<User>;
  /** Up to 5 seconds old where another process made a change. */
  find(organizationId: string, userId: string): Promise<User | undefined>;
  findByName(organizationId: string, username: string): Promise<User | undefined>;
  /** Disabled: sessions and refresh families end at once, tokens within a minute. */
  setStatus(organizationId: string, userId: string, status: Status): Promise<void>;
  /**
   * The one door for secrets. The answer and its timing are alike for an unknown user, a wrong
   * password, a wrong code and a lock. Rejects with `overloaded` when too many ask at once.
   */
  authenticate(attempt: Attempt): Promise<SignedIn | NotSignedIn>;
};

export function createAccounts(deps: AccountsDeps): Accounts {
  const { database, clock, ids, masterKey, environment, revision } = deps;
  const store = createUserStore(database);
  const passwords = deps.passwords ?? createPasswords(ids.secret());
  const oneTimePasswords = createOneTimePasswords(masterKey, ids);
  const limits = createAttemptLimits(deps.limits ?? defaultAttemptLimits, ids.secret());
  const signIn = createSignIn({
    store: createSignInStore(database),
    passwords,
    oneTimePasswords,
    limits,
    environment,
    clock,
    ids,
  });
  const lookup = createCachedLookup<Pick<User, 'organizationId' | 'userId'>, User>({
    max: cachedUsersMax,
    ttlMs: userTtlMs,
    clock,
    nameOf: ({ organizationId, userId }) => `${organizationId}/${userId}`,
    load: async ({ organizationId, userId }) =>
      uuidPattern.test(userId) ? store.find(organizationId, userId) : undefined,
  });
  const changed = (organizationId: string, userId: string) => {
    lookup.forget({ organizationId, userId });
    revision.bump();
  };

  return {
    async create(wanted) {
      const { user, usernameKey: key } = makeUser(wanted, environment, ids, clock.now());
      if ((await store.domainOf(user.organizationId)) !== wanted.userDomainId) {
        refuse('organization_not_found', 'The organization has no such user domain.');
      }
      const secret = wanted.otpSecret === undefined ? undefined : otpSecretFrom(wanted.otpSecret);
      const made = await store.insert({
        user,
        usernameKey: key,
        passwordHash:
          wanted.password === undefined ? undefined : await passwords.hash(wanted.password),
        otpSealed: secret === undefined ? undefined : oneTimePasswords.seal(secret, user),
      });
      if (!made) refuse('already_exists', 'This user name is taken.');
      changed(user.organizationId, user.userId);
      return user;
    },

    find: (organizationId, userId) => lookup.find({ organizationId, userId }),

    async findByName(organizationId, username) {
      const key = usernameKey(username);
      return key === undefined ? undefined : store.findByKey(organizationId, key);
    },

    async setStatus(organizationId, userId, status) {
      const at = clock.now();
      const isEnd = status === 'Disabled';
      const owner = { organizationId, userId };
      // Tokens tell their age in whole seconds: those of this second are dead too.
      const notBefore = isEnd ? Math.ceil(at / 1000) * 1000 : undefined;
      if (!(await store.setStatus(owner, status, at, notBefore))) {
        refuse('resource_not_found', 'There is no such user.');
      }
      changed(organizationId, userId);
      if (isEnd) await deps.endSessions(organizationId, userId);
    },

    authenticate: signIn.authenticate,
  };
}

function otpSecretFrom(text: string): Buffer {
  return readOtpSecret(text) ?? refuse('field_invalid', 'The secret is not base32 of 20 bytes.');
}
