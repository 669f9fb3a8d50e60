// SQL of email links: stored as hashes, single use, with an expiry time.
import { type Database, isoTime, type Queries, toRecords } from '../../../platform/index.ts';
import type { EmailLinkPurpose, User } from '../types.ts';
import { type StoredUser, toUsers, userColumnsSql, withPermissions } from '../users/user-sql.ts';

type UserKey = Pick<User, 'organizationId' | 'userId'>;

export type NewEmailLink = {
  readonly linkHash: Buffer;
  readonly purpose: EmailLinkPurpose;
  /** The recipient; following the link proves that the user reads this address. */
  readonly email: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

export type EmailLink = {
  readonly user: User;
  readonly purpose: EmailLinkPurpose;
  readonly email: string;
};

type LinkedUser = StoredUser & { purpose: EmailLinkPurpose; payload: { email: string } };

export function createEmailLinkStore(database: Database) {
  return {
    async find(
      organizationId: string,
      linkHash: Buffer,
      now: number,
    ): Promise<EmailLink | undefined> {
      const rows = await database.query(
        `SELECT ${userColumnsSql}, l.purpose, l.payload FROM user_links AS l JOIN users AS u
           ON u.organization_id = $1 AND u.user_id = l.user_id
         WHERE l.organization_id = $1 AND l.link_hash = $2 AND l.used_at IS NULL
           AND l.expires_at > $3 AND u.status = 'Enabled'`,
        [organizationId, linkHash, isoTime(now)],
      );
      const [linkedUser] = toRecords<LinkedUser>(rows);
      if (linkedUser === undefined) return undefined;
      const { purpose, payload, ...user } = linkedUser;
      return { user: withPermissions(user), purpose, email: payload.email };
    },

    async findOrganizationId(linkHash: Buffer): Promise<string | undefined> {
      const [row] = await database.query<{ organization_id: string }>(
        'SELECT organization_id FROM user_links WHERE link_hash = $1',
        [linkHash],
      );
      return row?.organization_id;
    },

    async findActivatedUser(
      organizationId: string,
      linkHash: Buffer,
      since: number,
    ): Promise<User | undefined> {
      const rows = await database.query(
        `SELECT ${userColumnsSql} FROM user_links AS l JOIN users AS u
           ON u.organization_id = $1 AND u.user_id = l.user_id
         WHERE l.organization_id = $1 AND l.link_hash = $2 AND l.purpose = 'activate'
           AND l.used_at > $3 AND u.status = 'Enabled' AND u.second_factor = 'Required'`,
        [organizationId, linkHash, isoTime(since)],
      );
      return toUsers(rows)[0];
    },
  };
}

/** Inserts the link unless the limit since `limit.since` is reached; concurrent calls for one user wait for each other. */
export async function insertLink(
  trx: Queries,
  { organizationId, userId }: UserKey,
  link: NewEmailLink,
  limit: { readonly since: number; readonly max: number },
): Promise<boolean> {
  await trx.query(
    'SELECT user_id FROM users WHERE organization_id = $1 AND user_id = $2 FOR UPDATE',
    [organizationId, userId],
  );
  const inserted = await trx.query(
    `INSERT INTO user_links
      (organization_id, link_hash, user_id, purpose, payload, created_at, expires_at)
    SELECT $1, $2, $3, $4, $5::jsonb, $6, $7 WHERE (SELECT count(*) FROM user_links
      WHERE organization_id = $1 AND user_id = $3 AND purpose = $4 AND created_at > $8) < $9
    RETURNING user_id`,
    [
      organizationId,
      link.linkHash,
      userId,
      link.purpose,
      JSON.stringify({ email: link.email }),
      isoTime(link.createdAt),
      isoTime(link.expiresAt),
      isoTime(limit.since),
      limit.max,
    ],
  );
  return inserted.length > 0;
}

/** Uses the link up: of many concurrent calls only one gets true. */
export async function markLinkUsed(
  trx: Queries,
  organizationId: string,
  linkHash: Buffer,
  now: number,
): Promise<boolean> {
  const updated = await trx.query(
    `UPDATE user_links SET used_at = $1
    WHERE organization_id = $2 AND link_hash = $3 AND used_at IS NULL
      AND expires_at > $1 RETURNING user_id`,
    [isoTime(now), organizationId, linkHash],
  );
  return updated.length > 0;
}

/** Makes all other links of the user invalid. */
export async function invalidateLinksOfUser(
  trx: Queries,
  { organizationId, userId }: UserKey,
  now: number,
): Promise<void> {
  await trx.query(
    `UPDATE user_links SET used_at = $1 WHERE organization_id = $2 AND user_id = $3
      AND used_at IS NULL`,
    [isoTime(now), organizationId, userId],
  );
}

export async function setPendingEmail(
  trx: Queries,
  { organizationId, userId }: UserKey,
  email: string,
): Promise<void> {
  await trx.query(
    'UPDATE users SET pending_email = $1 WHERE organization_id = $2 AND user_id = $3',
    [email, organizationId, userId],
  );
}

/** False if the user has requested another address since. */
export async function confirmPendingEmail(
  trx: Queries,
  { organizationId, userId }: UserKey,
  email: string,
  now: number,
): Promise<boolean> {
  const updated = await trx.query(
    `UPDATE users SET email = $1, email_verified = true,
      pending_email = NULL, version = version + 1, updated_at = $2
    WHERE organization_id = $3 AND user_id = $4 AND pending_email = $1 RETURNING user_id`,
    [email, isoTime(now), organizationId, userId],
  );
  return updated.length > 0;
}

/** The user followed a link, so the user reads the address that it was sent to. */
export async function markEmailVerified(
  trx: Queries,
  { organizationId, userId }: UserKey,
  email: string,
): Promise<void> {
  await trx.query(
    `UPDATE users SET email_verified = true WHERE organization_id = $1 AND user_id = $2
      AND email = $3`,
    [organizationId, userId, email],
  );
}
