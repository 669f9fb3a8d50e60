// SQL of users: insert, find, set a password.
import {
  type Database,
  isoTime,
  type Queries,
  type Row,
  toRecords,
} from '../../../platform/index.ts';
import type { User } from '../types.ts';
import { permissionsOfGroups } from './username-and-group-rules.ts';

export const userColumnsSql = `u.organization_id, u.user_id, u.username, u.entity_type, u.entity_id,
  u.scope_entity_type, u.scope_entity_id, u.email, u.email_verified, u.pending_email, u.given_name, u.family_name,
  u.phone_number, u.phone_number_verified, u.address, u.locale, u.zoneinfo, u.datetime_format,
  u.groups, u.status, u.second_factor, u.password_hash IS NOT NULL AS has_password,
  u.tokens_not_before, u.last_sign_in_at, u.version, u.created_at, u.updated_at`;

/** A user as `userColumnsSql` reads it. */
export type StoredUser = Omit<User, 'permissions'>;

export const withPermissions = (user: StoredUser): User => ({
  ...user,
  permissions: permissionsOfGroups(user.groups, user.entityType, user.entityId),
});

export const toUsers = (rows: readonly Row[]): User[] =>
  toRecords<StoredUser>(rows).map(withPermissions);

/** A reset request for a shared address sends at most this many emails. */
const maxUsersPerEmail = 5;

export type NewUserRow = {
  readonly user: User;
  readonly usernameKey: string;
  readonly passwordHash?: string | undefined;
  readonly sealedOtpSecret?: Buffer | undefined;
};

export type UserStore = ReturnType<typeof createUserStore>;

export function createUserStore(database: Database) {
  const findOne = async (where: string, values: readonly unknown[]): Promise<User | undefined> => {
    const rows = await database.query(
      `SELECT ${userColumnsSql} FROM users AS u WHERE u.organization_id = $1 AND ${where}`,
      values,
    );
    return toUsers(rows)[0];
  };

  return {
    find: (organizationId: string, userId: string) =>
      findOne('u.user_id = $2', [organizationId, userId]),

    findByUsernameKey: (organizationId: string, usernameKey: string) =>
      findOne('u.username_key = $2', [organizationId, usernameKey]),

    /** Enabled users with this address, a few at most: an address is not unique. */
    async findByEmail(organizationId: string, email: string): Promise<User[]> {
      const rows = await database.query(
        `SELECT ${userColumnsSql} FROM users AS u
         WHERE u.organization_id = $1 AND lower(u.email) = lower($2) AND u.status = 'Enabled'
         ORDER BY u.username_key LIMIT ${maxUsersPerEmail}`,
        [organizationId, email],
      );
      return toUsers(rows);
    },

    async findUserDomainId(organizationId: string): Promise<string | undefined> {
      const [row] = await database.query<{ id: string }>(
        'SELECT user_domain_id AS id FROM user_domains WHERE organization_id = $1',
        [organizationId],
      );
      return row?.id;
    },

    /** False if the name or the ID exists already: then nothing was written and `inTransaction` was not called. */
    insert: (row: NewUserRow, inTransaction: (trx: Queries) => Promise<void>): Promise<boolean> =>
      database.transaction(async (trx) => {
        if (!(await insertUser(trx, row))) return false;
        if (row.sealedOtpSecret !== undefined) {
          const { organizationId, userId, createdAt } = row.user;
          await trx.query(
            `INSERT INTO user_one_time_passwords
              (organization_id, user_id, secret_sealed, last_step, confirmed_at)
            VALUES ($1, $2, $3, 0, $4)`,
            [organizationId, userId, row.sealedOtpSecret, isoTime(createdAt)],
          );
        }
        await inTransaction(trx);
        return true;
      }),
  };
}

async function insertUser(trx: Queries, row: NewUserRow): Promise<boolean> {
  const { user, usernameKey, passwordHash } = row;
  const createdAt = isoTime(user.createdAt);
  const inserted = await trx.query(
    `INSERT INTO users (organization_id, user_id, username, username_key,
      entity_type, entity_id, scope_entity_type, scope_entity_id, email, email_verified, given_name,
      family_name, phone_number, phone_number_verified, address, locale, zoneinfo, datetime_format,
      groups, status, second_factor, password_hash, password_changed_at, failed_attempts, version,
      created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
      $13, false, $14, $15, $16, $17, $18, $19, $20, $21, $22, 0, $23, $24, $24)
    ON CONFLICT DO NOTHING RETURNING user_id`,
    [
      user.organizationId,
      user.userId,
      user.username,
      usernameKey,
      user.entityType,
      user.entityId,
      user.scopeEntityType,
      user.scopeEntityId,
      user.email,
      user.emailVerified,
      user.givenName ?? null,
      user.familyName ?? null,
      user.phoneNumber ?? null,
      user.address === undefined ? null : JSON.stringify(user.address),
      user.locale ?? null,
      user.zoneinfo ?? null,
      user.datetimeFormat ?? null,
      JSON.stringify(user.groups),
      user.status,
      user.secondFactor,
      passwordHash ?? null,
      passwordHash === undefined ? null : createdAt,
      user.version,
      createdAt,
    ],
  );
  return inserted.length > 0;
}

/** A new password also ends a lock: to set it, the user proved more than a password. */
export async function replacePassword(
  trx: Queries,
  { organizationId, userId }: Pick<User, 'organizationId' | 'userId'>,
  passwordHash: string,
  now: number,
): Promise<void> {
  // Tokens have their issue time in whole seconds: a sign-in in the current second must count as later.
  const notBefore = isoTime(Math.floor(now / 1000) * 1000);
  await trx.query(
    `UPDATE users SET password_hash = $1, password_changed_at = $2,
      failed_attempts = 0, locked_until = NULL, tokens_not_before = $3,
      sessions_ended_at = greatest(sessions_ended_at, $2), sessions_ended_but = NULL,
      version = version + 1, updated_at = $2 WHERE organization_id = $4 AND user_id = $5`,
    [passwordHash, isoTime(now), notBefore, organizationId, userId],
  );
  await trx.query('DELETE FROM user_known_sources WHERE organization_id = $1 AND user_id = $2', [
    organizationId,
    userId,
  ]);
}
