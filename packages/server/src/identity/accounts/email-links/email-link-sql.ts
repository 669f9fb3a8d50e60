// The SQL of mailed links: kept as hashes, each good once and for a while.
import { type Kysely, sql } from 'kysely';
import { type Database, isoTime } from '../../../platform/index.ts';
import type { LinkPurpose, User } from '../types.ts';
import { type UserRow, userColumns, userOf } from '../users/user-sql.ts';

type Owner = Pick<User, 'organizationId' | 'userId'>;

export type NewLink = {
  readonly linkHash: Buffer;
  readonly purpose: LinkPurpose;
  /** Where it is mailed: what following it proves. */
  readonly email: string;
  readonly at: number;
  readonly expiresAt: number;
};

export type FoundLink = {
  readonly user: User;
  readonly purpose: LinkPurpose;
  readonly email: string;
};

type LinkRow = UserRow & { purpose: LinkPurpose; payload: { email: string } };

export function createLinkStore(database: Database) {
  return {
    async find(
      organizationId: string,
      linkHash: Buffer,
      at: number,
    ): Promise<FoundLink | undefined> {
      const [row] = await database.query<LinkRow>(
        `SELECT ${userColumns}, l.purpose, l.payload FROM user_links AS l JOIN users AS u
           ON u.organization_id = $1 AND u.user_id = l.user_id
         WHERE l.organization_id = $1 AND l.link_hash = $2 AND l.used_at IS NULL
           AND l.expires_at > $3 AND u.status = 'Enabled'`,
        [organizationId, linkHash, isoTime(at)],
      );
      if (row === undefined) return undefined;
      return { user: userOf(row), purpose: row.purpose, email: row.payload.email };
    },

    async organizationOf(linkHash: Buffer): Promise<string | undefined> {
      const [row] = await database.query<{ organization_id: string }>(
        'SELECT organization_id FROM user_links WHERE link_hash = $1',
        [linkHash],
      );
      return row?.organization_id;
    },

    async activated(
      organizationId: string,
      linkHash: Buffer,
      since: number,
    ): Promise<User | undefined> {
      const [row] = await database.query<UserRow>(
        `SELECT ${userColumns} FROM user_links AS l JOIN users AS u
           ON u.organization_id = $1 AND u.user_id = l.user_id
         WHERE l.organization_id = $1 AND l.link_hash = $2 AND l.purpose = 'activate'
           AND l.used_at > $3 AND u.status = 'Enabled' AND u.second_factor = 'Required'`,
        [organizationId, linkHash, isoTime(since)],
      );
      return row === undefined ? undefined : userOf(row);
    },
  };
}

/** Makes the link unless the user was sent as many since then; two at once wait for each other. */
export async function insertLink(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  link: NewLink,
  limit: { readonly since: number; readonly most: number },
): Promise<boolean> {
  await sql`SELECT user_id FROM users
    WHERE organization_id = ${organizationId} AND user_id = ${userId} FOR UPDATE`.execute(trx);
  const made = await sql`INSERT INTO user_links
      (organization_id, link_hash, user_id, purpose, payload, created_at, expires_at)
    SELECT ${organizationId}, ${link.linkHash}, ${userId}, ${link.purpose},
      ${JSON.stringify({ email: link.email })}::jsonb, ${isoTime(link.at)},
      ${isoTime(link.expiresAt)}
    WHERE (SELECT count(*) FROM user_links
      WHERE organization_id = ${organizationId} AND user_id = ${userId}
        AND purpose = ${link.purpose} AND created_at > ${isoTime(limit.since)}) < ${limit.most}
    RETURNING user_id`.execute(trx);
  return made.rows.length > 0;
}

/** The one statement that uses a link up: of many at once, one alone hears true. */
export async function spendLink(
  trx: Kysely<unknown>,
  organizationId: string,
  linkHash: Buffer,
  at: number,
): Promise<boolean> {
  const spent = await sql`UPDATE user_links SET used_at = ${isoTime(at)}
    WHERE organization_id = ${organizationId} AND link_hash = ${linkHash} AND used_at IS NULL
      AND expires_at > ${isoTime(at)} RETURNING user_id`.execute(trx);
  return spent.rows.length > 0;
}

/** What lies in other mails of the user is worth nothing any more. */
export async function spendOthers(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  at: number,
): Promise<void> {
  await sql`UPDATE user_links SET used_at = ${isoTime(at)}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}
      AND used_at IS NULL`.execute(trx);
}

export async function setPendingEmail(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  email: string,
): Promise<void> {
  await sql`UPDATE users SET pending_email = ${email}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`.execute(trx);
}

/** False where the user has asked for another address since. */
export async function moveEmail(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  email: string,
  at: number,
): Promise<boolean> {
  const moved = await sql`UPDATE users SET email = ${email}, email_verified = true,
      pending_email = NULL, version = version + 1, updated_at = ${isoTime(at)}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}
      AND pending_email = ${email} RETURNING user_id`.execute(trx);
  return moved.rows.length > 0;
}

/** Whoever followed a link reads the mail of the address that it was sent to. */
export async function markVerified(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  email: string,
): Promise<void> {
  await sql`UPDATE users SET email_verified = true
    WHERE organization_id = ${organizationId} AND user_id = ${userId}
      AND email = ${email}`.execute(trx);
}
