// The SQL of those who look after users: a list, a row that is held, and what changes in it.
import { CompiledQuery, type Kysely } from 'kysely';
import { type Database, isoTime } from '../../platform/index.ts';
import type { Status } from '../realms-and-keys/realm.ts';
import type { Owner } from './one-time-passwords.ts';
import type { Profile, SecondFactor, User } from './types.ts';
import { type UserRow, userColumns, userOf } from './user-rows.ts';

export type UserFilters = {
  readonly entityId?: string | undefined;
  /** What the user name begins with, in any case. */
  readonly username?: string | undefined;
  readonly status?: Status | undefined;
};

/** `after` is the name of the last user of the page before, as names are compared. */
export type UserPage = { readonly limit: number; readonly after?: string | undefined };

/** Nothing but what is named here changes; `tokensNotBefore` null leaves it as it is. */
type Columns = {
  readonly status: Status;
  readonly secondFactor: SecondFactor;
  readonly profile: Profile;
  readonly tokensNotBefore: number | undefined;
};

function conditionsOf(filters: UserFilters, values: unknown[]): string[] {
  const place = (value: unknown) => `$${values.push(value)}`;
  const { entityId, username, status } = filters;
  const prefix = username?.toLowerCase().replace(/[\\%_]/g, '\\$&');
  return [
    ...(entityId === undefined ? [] : [`u.entity_id = ${place(entityId)}`]),
    ...(prefix === undefined ? [] : [`u.username_key LIKE ${place(`${prefix}%`)}`]),
    ...(status === undefined ? [] : [`u.status = ${place(status)}`]),
  ];
}

async function one(trx: Kysely<unknown>, text: string, values: readonly unknown[]) {
  const { rows } = await trx.executeQuery<UserRow>(CompiledQuery.raw(text, [...values]));
  return rows[0] === undefined ? undefined : userOf(rows[0]);
}

export function createUpkeepStore(database: Database) {
  return {
    /** In the order of their names. */
    async list(organizationId: string, filters: UserFilters, page: UserPage): Promise<User[]> {
      const values: unknown[] = [organizationId];
      const clauses = ['u.organization_id = $1', ...conditionsOf(filters, values)];
      if (page.after !== undefined) clauses.push(`u.username_key > $${values.push(page.after)}`);
      const rows = await database.query<UserRow>(
        `SELECT ${userColumns} FROM users AS u WHERE ${clauses.join(' AND ')}
         ORDER BY u.username_key LIMIT $${values.push(page.limit)}`,
        values,
      );
      return rows.map(userOf);
    },

    /** Nobody else changes the user until the transaction ends. */
    hold: (trx: Kysely<unknown>, { organizationId, userId }: Owner): Promise<User | undefined> =>
      one(
        trx,
        `SELECT ${userColumns} FROM users AS u
         WHERE u.organization_id = $1 AND u.user_id = $2 FOR UPDATE`,
        [organizationId, userId],
      ),

    async replace(
      trx: Kysely<unknown>,
      { organizationId, userId }: Owner,
      { status, secondFactor, profile, tokensNotBefore }: Columns,
      at: number,
    ): Promise<User> {
      const address = profile.address === undefined ? null : JSON.stringify(profile.address);
      const replaced = await one(
        trx,
        `UPDATE users AS u SET status = $3, second_factor = $4, given_name = $5, family_name = $6,
           phone_number = $7, address = $8, locale = $9, zoneinfo = $10, datetime_format = $11,
           groups = $12, tokens_not_before = coalesce($13, u.tokens_not_before),
           phone_number_verified = u.phone_number_verified AND u.phone_number IS NOT DISTINCT FROM $7,
           updated_at = $14, version = u.version + 1
         WHERE u.organization_id = $1 AND u.user_id = $2 RETURNING ${userColumns}`,
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
          isoTime(at),
        ],
      );
      if (replaced === undefined) throw new Error('a user that was held is gone');
      return replaced;
    },
  };
}
