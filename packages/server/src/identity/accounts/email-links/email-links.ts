// Single-use links in emails: to set the first password, to set a new password, or to confirm an address.
import { throwProblem } from '@switchyard/contract';
import {
  type Clock,
  type Database,
  hourMs,
  type Ids,
  type Job,
  type Jobs,
  type Queries,
} from '../../../platform/index.ts';
import { hashSecret } from '../../infrastructure/secret-hash.ts';
import type { EmailOutbox } from '../emails/email-outbox.ts';
import type { AttemptLimiter } from '../sign-in-attempts/attempts-per-ip-address.ts';
import type { AttemptOrigin, EmailLinkPurpose, User } from '../types.ts';
import { replacePassword, type UserStore } from '../users/user-sql.ts';
import { toUsernameKey } from '../users/username-and-group-rules.ts';
import { isValidEmail } from '../users/validate-user.ts';
import {
  confirmPendingEmail,
  createEmailLinkStore,
  type EmailLink,
  insertLink,
  invalidateLinksOfUser,
  markEmailVerified,
  markLinkUsed,
  setPendingEmail,
} from './email-link-sql.ts';

const linkLifetimeMs: Readonly<Record<EmailLinkPurpose, number>> = {
  activate: 24 * hourMs,
  reset: hourMs,
  email: 24 * hourMs,
};
/** Per purpose and user: enough for a lost email, too few to annoy the user. */
const maxLinksPerHour = 3;
/** An administrator may invite a user several times. */
const maxInvitationsPerHour = 10;
const linkPattern = /^[\w-]{43}$/;
const resetJobKind = 'accounts.password_reset';
const maxInputLength = 320;

export type EmailLinks = ReturnType<typeof createEmailLinks>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly outbox: EmailOutbox;
  readonly users: UserStore;
  readonly limits: AttemptLimiter;
  /** Checks the password against the policy and hashes it. */
  hashNewPassword(password: string, user: User): Promise<string>;
  /** Invalidates the cached user and ends every session. */
  endAllSessions(user: User): Promise<void>;
  invalidateUser(organizationId: string, userId: string): void;
};

export function createEmailLinks(deps: Deps) {
  const { database, clock, ids, jobs, outbox, users, limits } = deps;
  const store = createEmailLinkStore(database);

  /** False if the hourly limit of links is reached: then nothing was written. */
  async function insertLinkAndEmail(
    trx: Queries,
    user: User,
    purpose: EmailLinkPurpose,
    to: string,
  ): Promise<boolean> {
    const secret = ids.secret();
    const now = clock.now();
    const expiresAt = now + linkLifetimeMs[purpose];
    const link = { linkHash: hashSecret(secret), purpose, email: to, createdAt: now, expiresAt };
    const maxPerHour = purpose === 'activate' ? maxInvitationsPerHour : maxLinksPerHour;
    if (!(await insertLink(trx, user, link, { since: now - hourMs, max: maxPerHour })))
      return false;
    if (purpose === 'email' || to !== user.email) await setPendingEmail(trx, user, to);
    await outbox.enqueueLink(trx, user, purpose, { secret, expiresAt, to });
    return true;
  }

  async function sendLink(user: User, purpose: EmailLinkPurpose, to: string): Promise<boolean> {
    const isSent = await database.transaction((trx) => insertLinkAndEmail(trx, user, purpose, to));
    if (isSent) outbox.wakeJobs();
    return isSent;
  }

  /** Runs as a job after the response, so that its duration does not show whether the user exists. */
  async function processResetRequest(job: Job): Promise<void> {
    const { name } = outbox.decryptPayload<{ name: string }>(job);
    const key = toUsernameKey(name);
    const byUsername =
      key === undefined ? undefined : await users.findByUsernameKey(job.organizationId, key);
    const matches =
      byUsername !== undefined
        ? [byUsername]
        : isValidEmail(name)
          ? await users.findByEmail(job.organizationId, name)
          : [];
    const enabled = matches.filter(({ status }) => status === 'Enabled');
    await Promise.all(enabled.map((user) => sendLink(user, 'reset', user.email)));
  }

  async function setPassword(
    link: EmailLink,
    linkHash: Buffer,
    password: string,
  ): Promise<boolean> {
    const { user, email } = link;
    // Before the link is used, so that a forbidden password does not use it up.
    const passwordHash = await deps.hashNewPassword(password, user);
    const now = clock.now();
    return database.transaction(async (trx) => {
      if (!(await markLinkUsed(trx, user.organizationId, linkHash, now))) return false;
      await invalidateLinksOfUser(trx, user, now);
      // The user was invited at a new address and has proved that address.
      const hasNewEmail = link.purpose === 'activate' && email !== user.email;
      if (hasNewEmail && !(await confirmPendingEmail(trx, user, email, now))) return false;
      await replacePassword(trx, user, passwordHash, now);
      await markEmailVerified(trx, user, email);
      if (user.hasPassword) await outbox.enqueueNotice(trx, user, 'password-changed');
      return true;
    });
  }

  async function confirmEmail({ user, email }: EmailLink, linkHash: Buffer): Promise<boolean> {
    const now = clock.now();
    return database.transaction(async (trx) => {
      if (!(await markLinkUsed(trx, user.organizationId, linkHash, now))) return false;
      if (!(await confirmPendingEmail(trx, user, email, now))) return false;
      // They are in the old mailbox.
      await invalidateLinksOfUser(trx, user, now);
      if (user.email !== email) await outbox.enqueueNotice(trx, user, 'email-changed');
      return true;
    });
  }

  const findLink = async (organizationId: string, link: string): Promise<EmailLink | undefined> =>
    linkPattern.test(link) ? store.find(organizationId, hashSecret(link), clock.now()) : undefined;

  jobs.handle(resetJobKind, processResetRequest);

  return {
    /** The same work for every input: one row in the jobs table. */
    async requestPasswordReset(
      organizationId: string,
      usernameOrEmail: string,
      origin: AttemptOrigin,
    ): Promise<void> {
      if (limits.countResetRequest(origin.address) !== undefined) return;
      const name = usernameOrEmail.slice(0, maxInputLength).toWellFormed();
      await outbox.enqueueEncrypted(resetJobKind, organizationId, { name });
    },

    async sendInvitation(user: User): Promise<void> {
      if (!(await sendLink(user, 'activate', user.email))) throwTooManyLinks();
    },

    /** The link does not contain the organisation. Undefined if the link does not exist. */
    findOrganizationId: async (link: string): Promise<string | undefined> =>
      linkPattern.test(link) ? store.findOrganizationId(hashSecret(link)) : undefined,

    /** The user that set the first password with this link within the last hour and must still set up a second factor. */
    findActivatedUser: async (organizationId: string, link: string): Promise<User | undefined> =>
      linkPattern.test(link)
        ? store.findActivatedUser(organizationId, hashSecret(link), clock.now() - hourMs)
        : undefined,

    /** In the caller's transaction; the caller calls `outbox.wakeJobs` after the commit. */
    async sendInTransaction(
      trx: Queries,
      user: User,
      purpose: EmailLinkPurpose,
      to = user.email,
    ): Promise<void> {
      if (!(await insertLinkAndEmail(trx, user, purpose, to))) throwTooManyLinks();
    },

    /** The user keeps the old address until the link is followed. */
    async changeEmail(user: User, email: string): Promise<void> {
      if (!isValidEmail(email)) throwProblem('field_invalid', 'The email address is not valid.');
      if (!(await sendLink(user, 'email', email))) throwTooManyLinks();
    },

    /** Does not use the link up: email scanners open links too. */
    async find(
      organizationId: string,
      link: string,
    ): Promise<{ user: User; purpose: EmailLinkPurpose } | undefined> {
      const existing = await findLink(organizationId, link);
      return existing === undefined
        ? undefined
        : { user: existing.user, purpose: existing.purpose };
    },

    /** Undefined if the link is used, expired or unknown. Rejects with `field_invalid` if the password is not allowed. */
    async redeem(
      organizationId: string,
      link: string,
      password?: string,
    ): Promise<User | undefined> {
      const existing = await findLink(organizationId, link);
      if (existing === undefined) return undefined;
      const { user, purpose } = existing;
      const hash = hashSecret(link);
      if (purpose === 'email') {
        if (!(await confirmEmail(existing, hash))) return undefined;
        deps.invalidateUser(organizationId, user.userId);
      } else {
        if (password === undefined)
          throwProblem('field_required', 'The field password is required for this link.');
        if (!(await setPassword(existing, hash, password))) return undefined;
        await deps.endAllSessions(user);
      }
      outbox.wakeJobs();
      return users.find(organizationId, user.userId);
    },
  };
}

function throwTooManyLinks(): never {
  throwProblem(
    'rate_limited',
    'The hourly limit of links for this user is reached. Retry in one hour.',
    {
      retryAfterMs: hourMs,
    },
  );
}
