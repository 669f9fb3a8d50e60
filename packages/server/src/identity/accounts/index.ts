// The door of accounts: the people of a user domain, and everything that they prove themselves with.
import { refuse } from '@switchyard/contract';
import type { Clock, Database, Ids, Jobs, Log, Mail } from '../../platform/index.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import type { Accounts } from './accounts.ts';
import { type AttemptLimits, createAttemptLimits, defaultAttemptLimits } from './attempt-limits.ts';
import { createEnrolment } from './enrolment.ts';
import { createExpired } from './expired.ts';
import { spendOthers } from './link-store.ts';
import { createLinks } from './links.ts';
import { makeUser } from './new-user.ts';
import {
  createOneTimePasswords,
  type OneTimePasswords,
  readOtpSecret,
} from './one-time-passwords.ts';
import { createPasskeys } from './passkeys.ts';
import { createPasswordPolicy } from './password-policy.ts';
import { createPasswordStrength, type PasswordStrength } from './password-strength.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { createPost, noJobs, noMail } from './post.ts';
import { secondFactorNow, usernameKey } from './rules.ts';
import { createSignIn } from './sign-in.ts';
import { createSignInStore } from './sign-in-store.ts';
import { createSignIns } from './sign-ins.ts';
import { createUserStore, replacePassword, type UserStore } from './store.ts';
import type { EndSessions, NewUser, User, Within } from './types.ts';
import { createUpkeep } from './upkeep.ts';

export type { Accounts } from './accounts.ts';
export type { SignInRecord } from './sign-ins.ts';
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

export type AccountsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly environment: string;
  readonly authUrl: string;
  readonly revision: ChangeCounter;
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
    keyOf: ({ organizationId, userId }) => `${organizationId}/${userId}`,
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
