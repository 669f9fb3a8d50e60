// Links by mail: to set the first password, a new one, or to confirm an address; each good once.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Clock, Database, Ids, Job, Jobs } from '../../platform/index.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { Limiter } from './attempt-limits.ts';

import {
  createLinkStore,
  type FoundLink,
  insertLink,
  markVerified,
  moveEmail,
  setPendingEmail,
  spendLink,
  spendOthers,
} from './link-store.ts';
import { isEmail } from './new-user.ts';
import type { Post } from './post.ts';
import { usernameKey } from './rules.ts';
import { replacePassword, type UserStore } from './store.ts';
import type { LinkPurpose, Origin, User } from './types.ts';

const hourMs = 3_600_000;
const lifeMs: Readonly<Record<LinkPurpose, number>> = {
  activate: 24 * hourMs,
  reset: hourMs,
  email: 24 * hourMs,
};
/** Of one purpose to one user within an hour: enough for a lost mail, too few for a nuisance. */
const linksPerHour = 3;
/** An administrator may well invite somebody again and again; a link more does no harm then. */
const invitationsPerHour = 10;
const linkPattern = /^[\w-]{43}$/;
const resetJob = 'accounts.reset';
const typedCharsMax = 320;

export type Links = ReturnType<typeof createLinks>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly post: Post;
  readonly users: UserStore;
  readonly limits: Limiter;
  /** Checks the password against the policy; rejects with a refusal, or hashes it. */
  newHash(password: string, user: User): Promise<string>;
  /** The user's row changed, and everybody with the old password is to go. */
  ended(user: User): Promise<void>;
  changed(organizationId: string, userId: string): void;
};

export function createLinks(deps: Deps) {
  const { database, clock, ids, jobs, post, users, limits } = deps;
  const store = createLinkStore(database);

  /** False where the user was sent as many as an hour may have: then nothing was written. */
  async function writeIn(
    trx: Kysely<unknown>,
    user: User,
    purpose: LinkPurpose,
    to: string,
  ): Promise<boolean> {
    const secret = ids.secret();
    const at = clock.now();
    const expiresAt = at + lifeMs[purpose];
    const link = { linkHash: hashSecret(secret), purpose, email: to, at, expiresAt };
    const most = purpose === 'activate' ? invitationsPerHour : linksPerHour;
    if (!(await insertLink(trx, user, link, { since: at - hourMs, most }))) return false;
    if (purpose === 'email' || to !== user.email) await setPendingEmail(trx, user, to);
    await post.link(trx, user, purpose, { secret, expiresAt, to });
    return true;
  }

  async function send(user: User, purpose: LinkPurpose, to: string): Promise<boolean> {
    const isSent = await database.transaction((trx) => writeIn(trx, user, purpose, to));
    if (isSent) post.poke();
    return isSent;
  }

  /** Whoever asked has his answer already: nothing of what happens here can be timed. */
  async function answerReset(job: Job): Promise<void> {
    const { name } = post.open<{ name: string }>(job);
    const key = usernameKey(name);
    const named = key === undefined ? undefined : await users.findByKey(job.organizationId, key);
    const found =
      named !== undefined
        ? [named]
        : isEmail(name)
          ? await users.findByEmail(job.organizationId, name)
          : [];
    const enabled = found.filter(({ status }) => status === 'Enabled');
    await Promise.all(enabled.map((user) => send(user, 'reset', user.email)));
  }

  async function setPassword(found: FoundLink, hash: Buffer, password: string): Promise<boolean> {
    const { user, email } = found;
    // Before the link is spent, so that a refused password does not cost it.
    const passwordHash = await deps.newHash(password, user);
    const at = clock.now();
    return database.transaction(async (trx) => {
      if (!(await spendLink(trx, user.organizationId, hash, at))) return false;
      await spendOthers(trx, user, at);
      // Whoever was invited at another address since has proved that one.
      const isMoved = found.purpose === 'activate' && email !== user.email;
      if (isMoved && !(await moveEmail(trx, user, email, at))) return false;
      await replacePassword(trx, user, passwordHash, at);
      await markVerified(trx, user, email);
      if (user.hasPassword) await post.notice(trx, user, 'password-changed');
      return true;
    });
  }

  async function confirmEmail({ user, email }: FoundLink, hash: Buffer): Promise<boolean> {
    const at = clock.now();
    return database.transaction(async (trx) => {
      if (!(await spendLink(trx, user.organizationId, hash, at))) return false;
      if (!(await moveEmail(trx, user, email, at))) return false;
      // They lie in the mailbox that was left.
      await spendOthers(trx, user, at);
      if (user.email !== email) await post.notice(trx, user, 'email-changed');
      return true;
    });
  }

  const find = async (organizationId: string, link: string): Promise<FoundLink | undefined> =>
    linkPattern.test(link) ? store.find(organizationId, hashSecret(link), clock.now()) : undefined;

  jobs.handle(resetJob, answerReset);

  return {
    /** The same for everybody: one row in the jobs table. */
    async requestReset(
      organizationId: string,
      usernameOrEmail: string,
      origin: Origin,
    ): Promise<void> {
      if (limits.mail(origin.address) !== undefined) return;
      const name = usernameOrEmail.slice(0, typedCharsMax).toWellFormed();
      await post.enqueue(resetJob, organizationId, { name });
    },

    async invite(user: User): Promise<void> {
      if (!(await send(user, 'activate', user.email))) tooMany();
    },

    /** A link that came by mail names no organisation. Undefined: never one of ours. */
    organizationOf: async (link: string): Promise<string | undefined> =>
      linkPattern.test(link) ? store.organizationOf(hashSecret(link)) : undefined,

    /** Who set the first password by this link within the last hour, and has no second factor yet. */
    activated: async (organizationId: string, link: string): Promise<User | undefined> =>
      linkPattern.test(link)
        ? store.activated(organizationId, hashSecret(link), clock.now() - hourMs)
        : undefined,

    /** Within the caller's transaction, who pokes the post once that holds. */
    async sendIn(
      trx: Kysely<unknown>,
      user: User,
      purpose: LinkPurpose,
      to = user.email,
    ): Promise<void> {
      if (!(await writeIn(trx, user, purpose, to))) tooMany();
    },

    /** The address stays what it is until the link is followed. */
    async changeEmail(user: User, email: string): Promise<void> {
      if (!isEmail(email)) refuse('field_invalid', 'This is no mail address.');
      if (!(await send(user, 'email', email))) tooMany();
    },

    /** Looks, and does not use up: mail scanners follow links, too. */
    async open(
      organizationId: string,
      link: string,
    ): Promise<{ user: User; purpose: LinkPurpose } | undefined> {
      const found = await find(organizationId, link);
      return found === undefined ? undefined : { user: found.user, purpose: found.purpose };
    },

    /** Undefined: used, expired, or never ours. Rejects with `field_invalid` where the password is refused. */
    async use(organizationId: string, link: string, password?: string): Promise<User | undefined> {
      const found = await find(organizationId, link);
      if (found === undefined) return undefined;
      const { user, purpose } = found;
      const hash = hashSecret(link);
      if (purpose === 'email') {
        if (!(await confirmEmail(found, hash))) return undefined;
        deps.changed(organizationId, user.userId);
      } else {
        if (password === undefined) refuse('field_required', 'This link needs a password.');
        if (!(await setPassword(found, hash, password))) return undefined;
        await deps.ended(user);
      }
      post.poke();
      return users.find(organizationId, user.userId);
    },
  };
}

function tooMany(): never {
  refuse('rate_limited', 'This user was sent as many links as an hour may have.', {
    retryAfterMs: hourMs,
  });
}
