// SQL of user administration: list users, lock a user, replace its columns.
import { type Database, isoTime, type Queries } from '../../platform/index.ts';
import type { Status } from '../realms-and-keys/realm-types.ts';
import type { UserKey } from './second-factors/one-time-passwords.ts';
import type { SecondFactorStatus, User, UserProfile } from './types.ts';
import { toUsers, userColumnsSql } from './users/user-sql.ts';

export type UserFilters = {
  readonly entityId?: string | undefined;
  /** Prefix of the user name; upper and lower case are equal. */
  readonly username?: string | undefined;
  readonly status?: Status | undefined;
};

/** `after` is the normalized name of the last user of the previous page. */
export type UserPage = { readonly limit: number; readonly after?: string | undefined };

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

export function createUserAdministrationStore(database: Database) {
  return {
    /** In the order of the user names. */
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
