// The interface of accounts: the users of a user domain, their passwords, second factors, email links and sign-ins.
import { throwProblem } from '@switchyard/contract';
import {
  type Clock,
  type Database,
  type Ids,
  isLowerCaseUuid,
  type Jobs,
  type Log,
  type Mail,
} from '../../platform/index.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import { createExpiredDataDeletion } from './delete-expired.ts';
import { invalidateLinksOfUser } from './email-links/email-link-sql.ts';
import type { EmailLinks } from './email-links/email-links.ts';
import { createEmailLinks } from './email-links/email-links.ts';
import { createEmailOutbox, unavailableJobs, unavailableMail } from './emails/email-outbox.ts';
import { createPasswordHasher, type PasswordHasher } from './passwords/password-hashing.ts';
import { createPasswordPolicy } from './passwords/password-policy.ts';
import { createPasswordStrength, type PasswordStrength } from './passwords/password-strength.ts';
import type { PasswordViolation } from './passwords/rules.ts';
import type { OtpEnrolment } from './second-factors/one-time-password-enrolment.ts';
import { createOtpEnrolment } from './second-factors/one-time-password-enrolment.ts';
import {
  createOneTimePasswords,
  type OneTimePasswords,
  parseOtpSecret,
} from './second-factors/one-time-passwords.ts';
import type { Passkeys } from './second-factors/passkeys.ts';
import { createPasskeys } from './second-factors/passkeys.ts';
import { createAuthentication } from './sign-in/authenticate.ts';
import { createAuthenticationStore } from './sign-in/authenticate-sql.ts';
import {
  type AttemptLimits,
  createAttemptLimiter,
  defaultAttemptLimits,
} from './sign-in-attempts/attempts-per-ip-address.ts';
import type { SignInHistory } from './sign-in-attempts/sign-in-history.ts';
import { createSignInHistory } from './sign-in-attempts/sign-in-history.ts';
import type {
  EndSessions,
  NewUser,
  NotSignedIn,
  SignedIn,
  SignInAttempt,
  TransactionHook,
  User,
} from './types.ts';
import type { UserAdministration } from './user-administration.ts';
import { createUserAdministration } from './user-administration.ts';
import { createUserStore, replacePassword, type UserStore } from './users/user-sql.ts';
import { effectiveSecondFactor, toUsernameKey } from './users/username-and-group-rules.ts';
import { buildUser } from './users/validate-user.ts';

export type { SignInRecord } from './sign-in-attempts/sign-in-history.ts';
export type {
  AttemptOrigin,
  AuthenticationMethod,
  NewUser,
  NotSignedIn,
  SignedIn,
  SignInAttempt,
  TransactionHook,
  User,
  UserChangeHooks,
  UserProfile,
} from './types.ts';

/** How long another process may still use the old version of a changed user. */
export const userCacheTtlMs = 5_000;
const maxCachedUsers = 10_000;

export type Accounts = UserAdministration & {
  /** Rejects with `already_exists` or `field_invalid`. */
  create(user: NewUser, inTransaction?: TransactionHook): Promise<User>;
  /** Creates the user and, in the same transaction, the email with the link to set the first password. */
  invite(user: NewUser, inTransaction?: TransactionHook): Promise<User>;
  /** The result may be 5 seconds old if another process changed the user. */
  find(organizationId: string, userId: string): Promise<User | undefined>;
  findByName(organizationId: string, username: string): Promise<User | undefined>;
  /** Ends sessions and refresh token families. Rejects with `field_invalid` if the password policy forbids the password. */
  setPassword(organizationId: string, userId: string, password: string): Promise<void>;
  /** Undefined if the password is allowed. The first call loads the block list. */
  findPasswordViolation(
    password: string,
    user: User,
    hasSecondFactor: boolean,
  ): Promise<PasswordViolation | undefined>;
  /**
   * Checks password and code. Result and timing are equal for an unknown user, a wrong
   * password, a wrong code and a locked user. Rejects with `overloaded` under too many concurrent calls.
   */
  authenticate(attempt: SignInAttempt): Promise<SignedIn | NotSignedIn>;
  readonly beginOtpEnrolment: OtpEnrolment['begin'];
  readonly confirmOtpEnrolment: OtpEnrolment['confirm'];
  readonly renewRecoveryCodes: OtpEnrolment['renewRecoveryCodes'];
  readonly passkeys: Passkeys;
  readonly emailLinks: EmailLinks;
  readonly signInHistory: SignInHistory;
  /** Deletes at most `limit` expired rows of each kind and returns how many it found. */
  deleteExpired(now: number, limit: number): Promise<number>;
  close(): Promise<void>;
};

export type AccountsDependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly environment: string;
  readonly authUrl: string;
  readonly revision: ChangeCounter;
  /** If missing, every operation that sends an email fails before it changes anything. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue' | 'wake'> | undefined;
  readonly mail?: Pick<Mail, 'send'> | undefined;
  /** Ends the user's sessions and refresh token families, except those of `exceptSessionId`. */
  endSessions: EndSessions;
  readonly limits?: AttemptLimits | undefined;
  /** Default: argon2id. Tests count the calls. */
  readonly passwordHasher?: PasswordHasher | undefined;
  /** Default: the word lists, in a worker thread. */
  readonly passwordStrength?: PasswordStrength | undefined;
};

export function createAccounts(deps: AccountsDependencies): Accounts {
  const { database, clock, ids, log, masterKey, environment, revision } = deps;
  const { jobs = unavailableJobs, mail = unavailableMail } = deps;
  const users = createUserStore(database);
  const passwordHasher = deps.passwordHasher ?? createPasswordHasher(ids.secret());
  const passwordStrength = deps.passwordStrength ?? createPasswordStrength();
  const passwordPolicy = createPasswordPolicy(passwordStrength);
  const oneTimePasswords = createOneTimePasswords(masterKey, ids);
  const attemptLimiter = createAttemptLimiter(deps.limits ?? defaultAttemptLimits, ids.secret());
  const outbox = createEmailOutbox({ ...deps, jobs, mail });
  const signInHistory = createSignInHistory(database, clock, ids);
  const userCache = createUserCache(deps, users);
  const invalidateUser = (organizationId: string, userId: string) => {
    userCache.forget({ organizationId, userId });
    revision.bump();
  };
  const authentication = createAuthentication({
    store: createAuthenticationStore(database),
    passwordHasher,
    oneTimePasswords,
    attemptLimiter,
    environment,
    clock,
    ids,
  });
  const shared = { database, clock, ids, log, outbox, users, invalidateUser };

  const findUserDomainId = async (organizationId: string): Promise<string> =>
    (await users.findUserDomainId(organizationId)) ?? '';

  async function hashNewPassword(password: string, user: User, isRandom = false): Promise<string> {
    const hasSecondFactor = effectiveSecondFactor(environment, user) !== 'Off';
    const domain = await findUserDomainId(user.organizationId);
    await passwordPolicy.requireAllowed(password, user, domain, hasSecondFactor, isRandom);
    return passwordHasher.hash(password);
  }

  async function endAllSessions({ organizationId, userId }: User): Promise<void> {
    invalidateUser(organizationId, userId);
    await deps.endSessions(organizationId, userId);
  }

  const { endSessions } = deps;
  const enrolment = createOtpEnrolment({ ...shared, oneTimePasswords, signInHistory, endSessions });
  const passkeys = createPasskeys({
    ...shared,
    completeSignIn: authentication.completeWithPasskey,
  });
  const emailLinks = createEmailLinks({
    ...shared,
    jobs,
    limits: attemptLimiter,
    hashNewPassword,
    endAllSessions,
  });
  const administration = createUserAdministration({ ...shared, emailLinks, endSessions });
  const createUser = createUserCreator({
    ...shared,
    environment,
    oneTimePasswords,
    hashNewPassword,
  });

  return {
    ...administration,
    create: createUser,

    async invite(newUser, inTransaction) {
      const user = await createUser(newUser, async (trx, change) => {
        await emailLinks.sendInTransaction(trx, change.after, 'activate');
        await inTransaction?.(trx, change);
      });
      outbox.wakeJobs();
      return user;
    },

    find: (organizationId, userId) => userCache.find({ organizationId, userId }),

    async findByName(organizationId, username) {
      const key = toUsernameKey(username);
      return key === undefined ? undefined : users.findByUsernameKey(organizationId, key);
    },

    async setPassword(organizationId, userId, password) {
      const user = (await users.find(organizationId, userId)) ?? throwUserNotFound();
      const passwordHash = await hashNewPassword(password, user);
      const now = clock.now();
      await database.transaction(async (trx) => {
        await replacePassword(trx, user, passwordHash, now);
        await invalidateLinksOfUser(trx, user, now);
        await outbox.enqueueNotice(trx, user, 'password-changed');
      });
      outbox.wakeJobs();
      await endAllSessions(user);
    },

    findPasswordViolation: async (password, user, hasSecondFactor) =>
      passwordPolicy.findViolation(
        password,
        user,
        await findUserDomainId(user.organizationId),
        hasSecondFactor,
      ),

    authenticate: authentication.authenticate,
    beginOtpEnrolment: enrolment.begin,
    confirmOtpEnrolment: enrolment.confirm,
    renewRecoveryCodes: enrolment.renewRecoveryCodes,
    passkeys,
    emailLinks,
    signInHistory,
    deleteExpired: createExpiredDataDeletion(database),
    close: passwordStrength.close,
  };
}

type UserCreatorDependencies = {
  readonly environment: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly users: UserStore;
  readonly oneTimePasswords: OneTimePasswords;
  hashNewPassword(password: string, user: User, isRandom?: boolean): Promise<string>;
  invalidateUser(organizationId: string, userId: string): void;
};

function createUserCreator(deps: UserCreatorDependencies): Accounts['create'] {
  const { environment, clock, ids, users, oneTimePasswords, hashNewPassword } = deps;
  return async (newUser: NewUser, inTransaction?: TransactionHook): Promise<User> => {
    const { user, usernameKey: key } = buildUser(newUser, environment, ids, clock.now());
    if ((await users.findUserDomainId(user.organizationId)) !== newUser.userDomainId) {
      throwProblem('organization_not_found', 'The organisation has no user domain with this name.');
    }
    const { password, passwordIsRandom, otpSecret } = newUser;
    const secret = otpSecret === undefined ? undefined : requireOtpSecret(otpSecret);
    const hash = async (text: string) => hashNewPassword(text, user, passwordIsRandom);
    const row = {
      user,
      usernameKey: key,
      passwordHash: password === undefined ? undefined : await hash(password),
      sealedOtpSecret: secret === undefined ? undefined : oneTimePasswords.sealSecret(secret, user),
    };
    const isInserted = await users.insert(row, async (trx) =>
      inTransaction?.(trx, { after: user }),
    );
    if (!isInserted) {
      const usernameError = { pointer: '/username', code: 'already_exists', detail: 'is taken' };
      throwProblem('already_exists', 'This user name is taken.', { errors: [usernameError] });
    }
    deps.invalidateUser(user.organizationId, user.userId);
    return user;
  };
}

function createUserCache(
  { clock }: AccountsDependencies,
  users: ReturnType<typeof createUserStore>,
) {
  return createCachedLookup<Pick<User, 'organizationId' | 'userId'>, User>({
    max: maxCachedUsers,
    ttlMs: userCacheTtlMs,
    clock,
    keyOf: ({ organizationId, userId }) => `${organizationId}/${userId}`,
    load: async ({ organizationId, userId }) =>
      isLowerCaseUuid(userId) ? users.find(organizationId, userId) : undefined,
  });
}

function requireOtpSecret(text: string): Buffer {
  return (
    parseOtpSecret(text) ?? throwProblem('field_invalid', 'The secret is not base32 of 20 bytes.')
  );
}

function throwUserNotFound(): never {
  throwProblem('resource_not_found', 'There is no such user.');
}
