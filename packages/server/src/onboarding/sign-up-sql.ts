// SQL of sign-ups: insert with limits, list, lock, update the status, delete.
import { type Database, isoTime, type Queries, toRecords } from '../platform/index.ts';

export type SignUpStatus = 'Pending' | 'Approving' | 'Approved' | 'Rejected';

export type SignUpRecord = {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly persona: 'Acquirer' | 'ServiceProvider';
  readonly email: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly country: string;
  readonly language?: string | undefined;
  readonly status: SignUpStatus;
  readonly userDomainId?: string | undefined;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export type NewSignUp = Omit<
  SignUpRecord,
  'status' | 'userDomainId' | 'version' | 'createdAt' | 'updatedAt'
>;

const columns = `organization_id, organization_name, persona, email, given_name, family_name, country,
  language, status, user_domain_id, version, created_at, updated_at`;

async function queryOne(queries: Queries, text: string, values: readonly unknown[]) {
  return toRecords<SignUpRecord>(await queries.query(text, values))[0];
}

const lockRecipientSql = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

/** Mail servers deliver `ann+anything@` to `ann@`. */
const normalizeRecipient = (email: string): string =>
  email.toLowerCase().replace(/^([^+@]+)\+[^@]*@/, '$1@');

const findSignUpSql = `SELECT ${columns} FROM sign_ups WHERE organization_id = $1`;

export function createSignUpStore(database: Database) {
  return {
    /** False at a limit: sign-ups per recipient (`ann+x@` counts as `ann@`) or pending sign-ups of all recipients. */
    async insert(
      trx: Queries,
      signUp: NewSignUp,
      now: number,
      limits: {
        readonly maxPerRecipient: number;
        readonly recipientPeriodMs: number;
        readonly maxPending: number;
      },
    ): Promise<boolean> {
      const recipient = normalizeRecipient(signUp.email);
      // With the lock, the second of two concurrent calls counts the first.
      await trx.query(lockRecipientSql, [recipient]);
      const inserted = await queryOne(
        trx,
        `INSERT INTO sign_ups (organization_id, organization_name, persona, email, given_name,
           family_name, country, language, status, version, created_at, updated_at, recipient)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, 'Pending', 1, $9, $9, $12
         WHERE (SELECT count(*) FROM sign_ups
           WHERE recipient = $12 AND (status = 'Pending' OR created_at > $13)) < $10
         AND (SELECT count(*) FROM (
           SELECT 1 FROM sign_ups WHERE status = 'Pending' LIMIT $11) AS waiting) < $11
         RETURNING ${columns}`,
        [
          signUp.organizationId,
          signUp.organizationName,
          signUp.persona,
          signUp.email,
          signUp.givenName,
          signUp.familyName,
          signUp.country,
          signUp.language ?? null,
          isoTime(now),
          limits.maxPerRecipient,
          limits.maxPending,
          recipient,
          isoTime(now - limits.recipientPeriodMs),
        ],
      );
      return inserted !== undefined;
    },

    /** False if the sign-up does not exist, was approved, or was changed after `before`. */
    async deleteExpired(organizationId: string, before: number): Promise<boolean> {
      const deleted = await database.query(
        `DELETE FROM sign_ups WHERE organization_id = $1 AND status IN ('Pending', 'Rejected')
           AND updated_at <= $2 RETURNING organization_id`,
        [organizationId, isoTime(before)],
      );
      return deleted.length > 0;
    },

    /** True if at least so many sign-ups are pending. */
    async isPendingLimitReached(maxPending: number): Promise<boolean> {
      const rows = await database.query(
        "SELECT 1 FROM sign_ups WHERE status = 'Pending' LIMIT 1 OFFSET $1",
        [maxPending - 1],
      );
      return rows.length > 0;
    },

    find: (organizationId: string): Promise<SignUpRecord | undefined> =>
      queryOne(database, findSignUpSql, [organizationId]),

    /** In the order of their arrival. */
    async list(
      status: SignUpStatus | undefined,
      page: { readonly limit: number; readonly after?: string },
    ): Promise<SignUpRecord[]> {
      const rows = await database.query(
        `SELECT ${columns} FROM sign_ups
         WHERE ($1::text IS NULL OR status = $1) AND ($2::uuid IS NULL OR organization_id > $2)
         ORDER BY organization_id LIMIT $3`,
        [status ?? null, page.after ?? null, page.limit],
      );
      return toRecords(rows);
    },

    lock: (trx: Queries, organizationId: string): Promise<SignUpRecord | undefined> =>
      queryOne(trx, `${findSignUpSql} FOR UPDATE`, [organizationId]),

    async updateStatus(
      trx: Queries,
      organizationId: string,
      status: SignUpStatus,
      now: number,
      userDomainId?: string,
    ): Promise<SignUpRecord> {
      const updated = await queryOne(
        trx,
        `UPDATE sign_ups SET status = $2, updated_at = $3, version = version + 1,
           user_domain_id = coalesce($4, user_domain_id)
         WHERE organization_id = $1 RETURNING ${columns}`,
        [organizationId, status, isoTime(now), userDomainId ?? null],
      );
      if (updated === undefined) throw new Error('a locked sign-up no longer exists');
      return updated;
    },
  };
}
