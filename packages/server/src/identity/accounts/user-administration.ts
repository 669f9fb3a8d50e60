// Administration of users: list, update, enable or disable, send a password link, reset the second factor.
import { throwProblem } from '@switchyard/contract';
import {
  type Clock,
  type Database,
  isLowerCaseUuid,
  isoTime,
  type Queries,
} from '../../platform/index.ts';
import type { Status } from '../realms-and-keys/realm-types.ts';
import { invalidateLinksOfUser } from './email-links/email-link-sql.ts';
import type { EmailLinks } from './email-links/email-links.ts';
import type { EmailOutbox } from './emails/email-outbox.ts';
import type { UserKey } from './second-factors/one-time-passwords.ts';
import { deleteSecondFactors } from './second-factors/second-factor-sql.ts';
import type { SecondFactorStatus, User, UserChangeHooks, UserProfile } from './types.ts';
import { toUsers, userColumnsSql } from './users/user-sql.ts';
import { requireValidProfile } from './users/validate-user.ts';

type UserFilters = {
  readonly entityId?: string | undefined;
  /** Prefix of the user name; upper and lower case are equal. */
  readonly username?: string | undefined;
  readonly status?: Status | undefined;
};

/** `after` is the normalized name of the last user of the previous page. */
type UserPage = { readonly limit: number; readonly after?: string | undefined };

/** The columns that an update replaces; `tokensNotBefore` undefined keeps the value. */
type ReplacedColumns = {
  readonly status: Status;
  readonly secondFactor: SecondFactorStatus;
  readonly profile: UserProfile;
  readonly tokensNotBefore: number | undefined;
};

function filterConditions(filters: UserFilters, values: unknown[]): string[] {
  const bind = (value: unknown) => `$${values.push(value)}`;
  const { entityId, username, status } = filters;
  const prefix = username?.toLowerCase().replace(/[\\%_]/g, '\\$&');
  return [
    ...(entityId === undefined ? [] : [`u.entity_id = ${bind(entityId)}`]),
    ...(prefix === undefined ? [] : [`u.username_key LIKE ${bind(`${prefix}%`)}`]),
    ...(status === undefined ? [] : [`u.status = ${bind(status)}`]),
  ];
}

async function queryUser(trx: Queries, text: string, values: readonly unknown[]) {
  return toUsers(await trx.query(text, values))[0];
}

export type UserAdministration = ReturnType<typeof createUserAdministration>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly outbox: EmailOutbox;
  readonly emailLinks: Pick<EmailLinks, 'sendInTransaction'>;
  invalidateUser(organizationId: string, userId: string): void;
  endSessions(organizationId: string, userId: string): Promise<void>;
};

/** Tokens have their issue time in whole seconds: this makes those of the current second invalid too. */
const endOfSecond = (timestamp: number) => Math.ceil(timestamp / 1000) * 1000;

export function createUserAdministration(deps: Deps) {
  const { database, clock, outbox, emailLinks, invalidateUser } = deps;
  const store = createUserAdministrationStore(database);

  const replaceUser = (
    trx: Queries,
    before: User,
    changes: Partial<Pick<User, 'status' | 'secondFactor' | 'tokensNotBefore'>>,
    profile: UserProfile = before,
  ): Promise<User> => {
    const { status, secondFactor } = before;
    const current = { status, secondFactor, tokensNotBefore: undefined };
    return store.replace(trx, before, { ...current, ...changes, profile }, clock.now());
  };

  /** Runs everything in one transaction; rejects with `resource_not_found`. */
  async function changeUser(
    organizationId: string,
    userId: string,
    applyChange: (trx: Queries, before: User) => Promise<User>,
    { check, inTransaction }: UserChangeHooks,
  ): Promise<User> {
    const after = await database.transaction(async (trx) => {
      const owner = { organizationId, userId };
      const before = isLowerCaseUuid(userId) ? await store.lock(trx, owner) : undefined;
      if (before === undefined) {
        return throwProblem('resource_not_found', 'No user that you may see has this identifier.');
      }
      check?.(before);
      const after = await applyChange(trx, before);
      await inTransaction?.(trx, { before, after });
      return after;
    });
    invalidateUser(organizationId, userId);
    outbox.wakeJobs();
    return after;
  }

  /** Invites a user without a password again; other users keep their address until they confirm the new one. */
  async function startEmailChange(trx: Queries, user: User, email: string): Promise<User> {
    if (email === user.email || email === user.pendingEmail) return user;
    if (user.hasPassword) {
      await emailLinks.sendInTransaction(trx, user, 'email', email);
    } else {
      await invalidateLinksOfUser(trx, user, clock.now());
      await emailLinks.sendInTransaction(trx, user, 'activate', email);
    }
    return { ...user, pendingEmail: email };
  }

  return {
    /** In the order of the user names, which are the keys of the pages. */
    list: store.list,

    /** `buildProfile` gets the locked user and may throw. A new address gets a link to confirm it. */
    updateProfile: (
      organizationId: string,
      userId: string,
      buildProfile: (user: User) => UserProfile,
      hooks: UserChangeHooks = {},
    ): Promise<User> =>
      changeUser(
        organizationId,
        userId,
        async (trx, before) => {
          const profile = buildProfile(before);
          requireValidProfile(profile, before);
          const after = await replaceUser(trx, before, {}, profile);
          return startEmailChange(trx, after, profile.email);
        },
        hooks,
      ),

    /** Disabling ends sessions and refresh token families at once, access tokens within a minute. */
    async setStatus(
      organizationId: string,
      userId: string,
      status: Status,
      hooks: UserChangeHooks = {},
    ): Promise<User> {
      const isDisabled = status === 'Disabled';
      const tokenInvalidation = isDisabled ? { tokensNotBefore: endOfSecond(clock.now()) } : {};
      const after = await changeUser(
        organizationId,
        userId,
        (trx, before) => replaceUser(trx, before, { status, ...tokenInvalidation }),
        hooks,
      );
      if (isDisabled) await deps.endSessions(organizationId, userId);
      return after;
    },

    /** Sends a link to set a new password, or the first one. Rejects with `rate_limited`. */
    sendPasswordLink: (
      organizationId: string,
      userId: string,
      hooks: UserChangeHooks = {},
    ): Promise<User> =>
      changeUser(
        organizationId,
        userId,
        async (trx, user) => {
          if (user.status !== 'Enabled') {
            throwProblem(
              'user_deactivated',
              'The user is deactivated and cannot sign in. Activate the user first.',
            );
          }
          if (user.hasPassword) await emailLinks.sendInTransaction(trx, user, 'reset');
          else
            await emailLinks.sendInTransaction(
              trx,
              user,
              'activate',
              user.pendingEmail ?? user.email,
            );
          return user;
        },
        hooks,
      ),

    /** For a lost phone: the user sets up a new second factor at the next sign-in. Ends every session. */
    async resetSecondFactor(
      organizationId: string,
      userId: string,
      hooks: UserChangeHooks = {},
    ): Promise<User> {
      const tokensNotBefore = endOfSecond(clock.now());
      const after = await changeUser(
        organizationId,
        userId,
        async (trx, before) => {
          await deleteSecondFactors(trx, before);
          await outbox.enqueueNotice(trx, before, 'second-factor-reset');
          return replaceUser(trx, before, { secondFactor: 'Required', tokensNotBefore });
        },
        hooks,
      );
      await deps.endSessions(organizationId, userId);
      return after;
    },
  };
}

function createUserAdministrationStore(database: Database) {
  return {
    async list(organizationId: string, filters: UserFilters, page: UserPage): Promise<User[]> {
      const values: unknown[] = [organizationId];
      const clauses = ['u.organization_id = $1', ...filterConditions(filters, values)];
      if (page.after !== undefined) clauses.push(`u.username_key > $${values.push(page.after)}`);
      const rows = await database.query(
        `SELECT ${userColumnsSql} FROM users AS u WHERE ${clauses.join(' AND ')}
         ORDER BY u.username_key LIMIT $${values.push(page.limit)}`,
        values,
      );
      return toUsers(rows);
    },

    /** Other transactions cannot change the user until this one ends. */
    lock: (trx: Queries, { organizationId, userId }: UserKey): Promise<User | undefined> =>
      queryUser(
        trx,
        `SELECT ${userColumnsSql} FROM users AS u
         WHERE u.organization_id = $1 AND u.user_id = $2 FOR UPDATE`,
        [organizationId, userId],
      ),

    async replace(
      trx: Queries,
      { organizationId, userId }: UserKey,
      { status, secondFactor, profile, tokensNotBefore }: ReplacedColumns,
      now: number,
    ): Promise<User> {
      const address = profile.address === undefined ? null : JSON.stringify(profile.address);
      const replaced = await queryUser(
        trx,
        `UPDATE users AS u SET status = $3, second_factor = $4, given_name = $5, family_name = $6,
           phone_number = $7, address = $8, locale = $9, zoneinfo = $10, datetime_format = $11,
           groups = $12, tokens_not_before = coalesce($13, u.tokens_not_before),
           phone_number_verified = u.phone_number_verified AND u.phone_number IS NOT DISTINCT FROM $7,
           updated_at = $14, version = u.version + 1
         WHERE u.organization_id = $1 AND u.user_id = $2 RETURNING ${userColumnsSql}`,
        [
          organizationId,
          userId,
          status,
          secondFactor,
          profile.givenName ?? null,
          profile.familyName ?? null,
          profile.phoneNumber ?? null,
          address,
          profile.locale ?? null,
          profile.zoneinfo ?? null,
          profile.datetimeFormat ?? null,
          JSON.stringify(profile.groups),
          tokensNotBefore === undefined ? null : isoTime(tokensNotBefore),
          isoTime(now),
        ],
      );
      if (replaced === undefined) throw new Error('a locked user no longer exists');
      return replaced;
    },
  };
}
