// The door of accounts: the people of a user domain, and everything that they prove themselves with.
import { refuse } from '@switchyard/contract';
import type { Clock, Database, Ids, Jobs, Log, Mail } from '../../platform/index.ts';
import { createCachedLookup } from '../cached-lookup.ts';
import type { Revision } from '../revision.ts';
import { createExpired } from './delete-expired.ts';
import { spendOthers } from './email-links/email-link-sql.ts';
import type { Links } from './email-links/email-links.ts';
import { createLinks } from './email-links/email-links.ts';
import { createPost, noJobs, noMail } from './emails/email-outbox.ts';
import { createPasswords, type Passwords } from './passwords/password-hashing.ts';
import { createPasswordPolicy } from './passwords/password-policy.ts';
import { createPasswordStrength, type PasswordStrength } from './passwords/password-strength.ts';
import type { PasswordFault } from './passwords/rules.ts';
import type { Enrolment } from './second-factors/one-time-password-enrolment.ts';
import { createEnrolment } from './second-factors/one-time-password-enrolment.ts';
import {
  createOneTimePasswords,
  type OneTimePasswords,
  readOtpSecret,
} from './second-factors/one-time-passwords.ts';
import type { Passkeys } from './second-factors/passkeys.ts';
import { createPasskeys } from './second-factors/passkeys.ts';
import { createSignIn } from './sign-in/authenticate.ts';
import { createSignInStore } from './sign-in/authenticate-sql.ts';
import {
  type AttemptLimits,
  createAttemptLimits,
  defaultAttemptLimits,
} from './sign-in-attempts/attempt-limits.ts';
import type { SignIns } from './sign-in-attempts/sign-in-history.ts';
import { createSignIns } from './sign-in-attempts/sign-in-history.ts';
import type {
  Attempt,
  EndSessions,
  NewUser,
  NotSignedIn,
  SignedIn,
  User,
  Within,
} from './types.ts';
import type { Upkeep } from './user-administration.ts';
import { createUpkeep } from './user-administration.ts';
import { secondFactorNow, usernameKey } from './users/rules.ts';
import { createUserStore, replacePassword, type UserStore } from './users/user-sql.ts';
import { makeUser } from './users/validate-user.ts';

export type { SignInRecord } from './sign-in-attempts/sign-in-history.ts';
export type {
  Attempt,
  Method,
  NewUser,
  NotSignedIn,
  Origin,
  Profile,
  SignedIn,
  Upon,
  User,
  Within,
} from './types.ts';

/** How long another process may take to see what changed of a user. */
export const userTtlMs = 5_000;
const cachedUsersMax = 10_000;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type Accounts = {
  /** Rejects with a Refusal `already_exists` or `field_invalid`. */
  create(user: NewUser, within?: Within): Promise<User>;
  /** As `create`, and in the same commit the mail with the link to the first password. */
  invite(user: NewUser, within?: Within): Promise<User>;
  /** Up to 5 seconds old where another process made a change. */
  find(organizationId: string, userId: string): Promise<User | undefined>;
  findByName(organizationId: string, username: string): Promise<User | undefined>;
  readonly list: Upkeep['list'];
  readonly change: Upkeep['change'];
  readonly setStatus: Upkeep['setStatus'];
  readonly sendPasswordLink: Upkeep['sendPasswordLink'];
  readonly resetSecondFactor: Upkeep['resetSecondFactor'];
  /** Ends sessions and refresh families. Rejects with `field_invalid` where the policy refuses it. */
  setPassword(organizationId: string, userId: string, password: string): Promise<void>;
  /** Undefined: it may be used. The block list is loaded by the first who asks. */
  passwordFault(
    password: string,
    user: User,
    hasSecondFactor: boolean,
  ): Promise<PasswordFault | undefined>;
  /**
   * The one door for secrets. The answer and its timing are alike for an unknown user, a wrong
   * password, a wrong code and a lock. Rejects with `overloaded` when too many ask at once.
   */
  authenticate(attempt: Attempt): Promise<SignedIn | NotSignedIn>;
  readonly beginOtp: Enrolment['begin'];
  readonly confirmOtp: Enrolment['confirm'];
  readonly renewRecoveryCodes: Enrolment['renewRecoveryCodes'];
  readonly passkeys: Passkeys;
  readonly links: Links;
  readonly signIns: SignIns;
  /** Deletes at most `limit` rows of each kind that nobody needs any more; tells how many it found. */
  deleteExpired(at: number, limit: number): Promise<number>;
  close(): Promise<void>;
};

export type AccountsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly environment: string;
  readonly authUrl: string;
  readonly revision: Revision;
  /** Left out: whatever would write a letter fails, before it has done anything. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue' | 'poke'> | undefined;
  readonly mail?: Pick<Mail, 'send'> | undefined;
  /** Ends the user's sessions and refresh families, but that of `exceptSessionId`. */
  endSessions: EndSessions;
  readonly limits?: AttemptLimits | undefined;
  /** Left out: argon2id; a test may count. */
  readonly passwords?: Passwords | undefined;
  /** Left out: the word lists, in a thread of their own. */
  readonly strength?: PasswordStrength | undefined;
};

export function createAccounts(deps: AccountsDeps): Accounts {
  const { database, clock, ids, log, masterKey, environment, revision } = deps;
  const { jobs = noJobs, mail = noMail } = deps;
  const users = createUserStore(database);
  const passwords = deps.passwords ?? createPasswords(ids.secret());
  const strength = deps.strength ?? createPasswordStrength();
  const policy = createPasswordPolicy(strength);
  const oneTimePasswords = createOneTimePasswords(masterKey, ids);
  const limits = createAttemptLimits(deps.limits ?? defaultAttemptLimits, ids.secret());
  const post = createPost({ ...deps, jobs, mail });
  const signIns = createSignIns(database, clock, ids);
  const lookup = createUserLookup(deps, users);
  const changed = (organizationId: string, userId: string) => {
    lookup.forget({ organizationId, userId });
    revision.bump();
  };
  const signIn = createSignIn({
    store: createSignInStore(database),
    passwords,
    oneTimePasswords,
    limits,
    environment,
    clock,
    ids,
  });
  const made = { database, clock, ids, log, post, users, changed };

  const domainOf = async (organizationId: string): Promise<string> =>
    (await users.domainOf(organizationId)) ?? '';

  async function newHash(password: string, user: User, isRandom = false): Promise<string> {
    const hasSecondFactor = secondFactorNow(environment, user) !== 'Off';
    const domain = await domainOf(user.organizationId);
    await policy.check(password, user, domain, hasSecondFactor, isRandom);
    return passwords.hash(password);
  }

  async function ended({ organizationId, userId }: User): Promise<void> {
    changed(organizationId, userId);
    await deps.endSessions(organizationId, userId);
  }

  const { endSessions } = deps;
  const enrolment = createEnrolment({ ...made, oneTimePasswords, signIns, endSessions });
  const passkeys = createPasskeys({ ...made, settle: signIn.settlePasskey });
  const links = createLinks({ ...made, jobs, limits, newHash, ended });
  const upkeep = createUpkeep({ ...made, links, endSessions });
  const create = createMaking({ ...made, environment, oneTimePasswords, newHash });

  return {
    ...upkeep,
    create,

    async invite(wanted, within) {
      const user = await create(wanted, async (trx, change) => {
        await links.sendIn(trx, change.after, 'activate');
        await within?.(trx, change);
      });
      post.poke();
      return user;
    },

    find: (organizationId, userId) => lookup.find({ organizationId, userId }),

    async findByName(organizationId, username) {
      const key = usernameKey(username);
      return key === undefined ? undefined : users.findByKey(organizationId, key);
    },

    async setPassword(organizationId, userId, password) {
      const user = (await users.find(organizationId, userId)) ?? noUser();
      const passwordHash = await newHash(password, user);
      const at = clock.now();
      await database.transaction(async (trx) => {
        await replacePassword(trx, user, passwordHash, at);
        await spendOthers(trx, user, at);
        await post.notice(trx, user, 'password-changed');
      });
      post.poke();
      await ended(user);
    },

    passwordFault: async (password, user, hasSecondFactor) =>
      policy.fault(password, user, await domainOf(user.organizationId), hasSecondFactor),

    authenticate: signIn.authenticate,
    beginOtp: enrolment.begin,
    confirmOtp: enrolment.confirm,
    renewRecoveryCodes: enrolment.renewRecoveryCodes,
    passkeys,
    links,
    signIns,
    deleteExpired: createExpired(database),
    close: strength.close,
  };
}

type MakingDeps = {
  readonly environment: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly users: UserStore;
  readonly oneTimePasswords: OneTimePasswords;
  newHash(password: string, user: User, isRandom?: boolean): Promise<string>;
  changed(organizationId: string, userId: string): void;
};

function createMaking(deps: MakingDeps): Accounts['create'] {
  const { environment, clock, ids, users, oneTimePasswords, newHash } = deps;
  return async (wanted: NewUser, within?: Within): Promise<User> => {
    const { user, usernameKey: key } = makeUser(wanted, environment, ids, clock.now());
    if ((await users.domainOf(user.organizationId)) !== wanted.userDomainId) {
      refuse('organization_not_found', 'The organization has no such user domain.');
    }
    const { password, passwordIsRandom, otpSecret } = wanted;
    const secret = otpSecret === undefined ? undefined : otpSecretFrom(otpSecret);
    const hash = async (text: string) => newHash(text, user, passwordIsRandom);
    const row = {
      user,
      usernameKey: key,
      passwordHash: password === undefined ? undefined : await hash(password),
      otpSealed: secret === undefined ? undefined : oneTimePasswords.seal(secret, user),
    };
    const isMade = await users.insert(row, async (trx) => within?.(trx, { after: user }));
    if (!isMade) {
      const taken = { pointer: '/username', code: 'already_exists', detail: 'is taken' };
      refuse('already_exists', 'This user name is taken.', { errors: [taken] });
    }
    deps.changed(user.organizationId, user.userId);
    return user;
  };
}

function createUserLookup({ clock }: AccountsDeps, users: ReturnType<typeof createUserStore>) {
  return createCachedLookup<Pick<User, 'organizationId' | 'userId'>, User>({
    max: cachedUsersMax,
    ttlMs: userTtlMs,
    clock,
    nameOf: ({ organizationId, userId }) => `${organizationId}/${userId}`,
    load: async ({ organizationId, userId }) =>
      uuidPattern.test(userId) ? users.find(organizationId, userId) : undefined,
  });
}

function otpSecretFrom(text: string): Buffer {
  return readOtpSecret(text) ?? refuse('field_invalid', 'The secret is not base32 of 20 bytes.');
}

function noUser(): never {
  refuse('resource_not_found', 'There is no such user.');
}
