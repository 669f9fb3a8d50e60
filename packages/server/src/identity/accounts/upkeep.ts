// Looks after users for those who may: lists them, changes them, switches them off, helps them back in.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Clock, Database } from '../../platform/index.ts';
import type { Status } from '../realms-and-keys/realm.ts';
import { forgetFactors } from './factor-store.ts';
import { spendOthers } from './link-store.ts';
import type { Links } from './links.ts';
import { checkProfile } from './new-user.ts';
import type { Post } from './post.ts';
import type { Profile, Upon, User } from './types.ts';
import { createUpkeepStore, type UserFilters, type UserPage } from './upkeep-store.ts';

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type Upkeep = ReturnType<typeof createUpkeep>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly post: Post;
  readonly links: Pick<Links, 'sendIn'>;
  changed(organizationId: string, userId: string): void;
  endSessions(organizationId: string, userId: string): Promise<void>;
};

/** Tokens tell their age in whole seconds: those of this second are dead too. */
const afterThisSecond = (at: number) => Math.ceil(at / 1000) * 1000;

export function createUpkeep(deps: Deps) {
  const { database, clock, post, links, changed } = deps;
  const store = createUpkeepStore(database);

  const replace = (
    trx: Kysely<unknown>,
    before: User,
    changes: Partial<Pick<User, 'status' | 'secondFactor' | 'tokensNotBefore'>>,
    profile: Profile = before,
  ): Promise<User> => {
    const { status, secondFactor } = before;
    const kept = { status, secondFactor, tokensNotBefore: undefined };
    return store.replace(trx, before, { ...kept, ...changes, profile }, clock.now());
  };

  /** Everything in one commit; rejects with `resource_not_found`. */
  async function changing(
    organizationId: string,
    userId: string,
    act: (trx: Kysely<unknown>, before: User) => Promise<User>,
    { check, within }: Upon,
  ): Promise<User> {
    const after = await database.transaction(async (trx) => {
      const owner = { organizationId, userId };
      const before = uuidPattern.test(userId) ? await store.hold(trx, owner) : undefined;
      if (before === undefined) {
        return refuse('resource_not_found', 'No user in your scope has this identifier.');
      }
      check?.(before);
      const after = await act(trx, before);
      await within?.(trx, { before, after });
      return after;
    });
    changed(organizationId, userId);
    post.poke();
    return after;
  }

  /** Whoever never signed in is invited anew; the others confirm the address, and keep theirs until then. */
  async function moveMail(trx: Kysely<unknown>, user: User, email: string): Promise<User> {
    if (email === user.email || email === user.pendingEmail) return user;
    if (user.hasPassword) {
      await links.sendIn(trx, user, 'email', email);
    } else {
      await spendOthers(trx, user, clock.now());
      await links.sendIn(trx, user, 'activate', email);
    }
    return { ...user, pendingEmail: email };
  }

  return {
    /** In the order of their names, which is what a page goes on from. */
    list: (organizationId: string, filters: UserFilters, page: UserPage): Promise<User[]> =>
      store.list(organizationId, filters, page),

    /** `by` sees the user as nobody else can change it, and may refuse. A new address is mailed a link. */
    change: (
      organizationId: string,
      userId: string,
      by: (standing: User) => Profile,
      upon: Upon = {},
    ): Promise<User> =>
      changing(
        organizationId,
        userId,
        async (trx, before) => {
          const wanted = by(before);
          checkProfile(wanted, before);
          const after = await replace(trx, before, {}, wanted);
          return moveMail(trx, after, wanted.email);
        },
        upon,
      ),

    /** Disabled: sessions and refresh families end at once, tokens within a minute. */
    async setStatus(
      organizationId: string,
      userId: string,
      status: Status,
      upon: Upon = {},
    ): Promise<User> {
      const isEnd = status === 'Disabled';
      const ended = isEnd ? { tokensNotBefore: afterThisSecond(clock.now()) } : {};
      const after = await changing(
        organizationId,
        userId,
        (trx, before) => replace(trx, before, { status, ...ended }),
        upon,
      );
      if (isEnd) await deps.endSessions(organizationId, userId);
      return after;
    },

    /** Mails a link to a new password, or to the first one. Rejects with `rate_limited`. */
    sendPasswordLink: (organizationId: string, userId: string, upon: Upon = {}): Promise<User> =>
      changing(
        organizationId,
        userId,
        async (trx, user) => {
          if (user.status !== 'Enabled') {
            refuse('user_deactivated', 'The user is deactivated, and a link would not let him in.');
          }
          if (user.hasPassword) await links.sendIn(trx, user, 'reset');
          else await links.sendIn(trx, user, 'activate', user.pendingEmail ?? user.email);
          return user;
        },
        upon,
      ),

    /** For a lost phone: a new second factor is set up at the next sign-in. Ends every session. */
    async resetSecondFactor(
      organizationId: string,
      userId: string,
      upon: Upon = {},
    ): Promise<User> {
      const tokensNotBefore = afterThisSecond(clock.now());
      const after = await changing(
        organizationId,
        userId,
        async (trx, before) => {
          await forgetFactors(trx, before);
          await post.notice(trx, before, 'second-factor-reset');
          return replace(trx, before, { secondFactor: 'Required', tokensNotBefore });
        },
        upon,
      );
      await deps.endSessions(organizationId, userId);
      return after;
    },
  };
}
