// The SQL of sign-ups: of organisations that are not there yet, which the operator alone looks through.
import { CompiledQuery, type Kysely } from 'kysely';
import { type Database, isoTime } from '../platform/index.ts';

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

type Row = {
  organization_id: string;
  organization_name: string;
  persona: SignUpRecord['persona'];
  email: string;
  given_name: string;
  family_name: string;
  country: string;
  language: string | null;
  status: SignUpStatus;
  user_domain_id: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const columns = `organization_id, organization_name, persona, email, given_name, family_name, country,
  language, status, user_domain_id, version, created_at, updated_at`;

const recordOf = (row: Row): SignUpRecord => ({
  organizationId: row.organization_id,
  organizationName: row.organization_name,
  persona: row.persona,
  email: row.email,
  givenName: row.given_name,
  familyName: row.family_name,
  country: row.country,
  language: row.language ?? undefined,
  status: row.status,
  userDomainId: row.user_domain_id ?? undefined,
  version: row.version,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
});

async function one(trx: Kysely<unknown>, text: string, values: readonly unknown[]) {
  const { rows } = await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
  return rows[0] === undefined ? undefined : recordOf(rows[0]);
}

const lockRecipientText = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

/** Mail servers deliver "ann+anything@" to "ann@". */
const recipientOf = (email: string): string =>
  email.toLowerCase().replace(/^([^+@]+)\+[^@]*@/, '$1@');

const findText = `SELECT ${columns} FROM sign_ups WHERE organization_id = $1`;

export function createSignUpStore(database: Database) {
  return {
    /** Writes nothing at a limit: sign-ups per recipient ("ann+x@" is "ann@"), or all that wait. */
    async insert(
      trx: Kysely<unknown>,
      wanted: NewSignUp,
      at: number,
      most: {
        readonly perRecipient: number;
        readonly recipientPeriodMs: number;
        readonly ofAll: number;
      },
    ): Promise<boolean> {
      const recipient = recipientOf(wanted.email);
      // Of two at once the second one counts the first.
      await trx.executeQuery(CompiledQuery.raw(lockRecipientText, [recipient]));
      const made = await one(
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
          wanted.organizationId,
          wanted.organizationName,
          wanted.persona,
          wanted.email,
          wanted.givenName,
          wanted.familyName,
          wanted.country,
          wanted.language ?? null,
          isoTime(at),
          most.perRecipient,
          most.ofAll,
          recipient,
          isoTime(at - most.recipientPeriodMs),
        ],
      );
      return made !== undefined;
    },

    /** False where it is not there, came to something, or was touched since. */
    async forget(organizationId: string, before: number): Promise<boolean> {
      const gone = await database.query(
        `DELETE FROM sign_ups WHERE organization_id = $1 AND status IN ('Pending', 'Rejected')
           AND updated_at <= $2 RETURNING organization_id`,
        [organizationId, isoTime(before)],
      );
      return gone.length > 0;
    },

    /** Whether so many wait, of all addresses together. */
    async isFull(most: number): Promise<boolean> {
      const rows = await database.query(
        "SELECT 1 FROM sign_ups WHERE status = 'Pending' LIMIT 1 OFFSET $1",
        [most - 1],
      );
      return rows.length > 0;
    },

    async find(organizationId: string): Promise<SignUpRecord | undefined> {
      const [row] = await database.query<Row>(findText, [organizationId]);
      return row === undefined ? undefined : recordOf(row);
    },

    /** In the order in which they came. */
    async list(
      status: SignUpStatus | undefined,
      page: { readonly limit: number; readonly after?: string },
    ): Promise<SignUpRecord[]> {
      const rows = await database.query<Row>(
        `SELECT ${columns} FROM sign_ups
         WHERE ($1::text IS NULL OR status = $1) AND ($2::uuid IS NULL OR organization_id > $2)
         ORDER BY organization_id LIMIT $3`,
        [status ?? null, page.after ?? null, page.limit],
      );
      return rows.map(recordOf);
    },

    hold: (trx: Kysely<unknown>, organizationId: string): Promise<SignUpRecord | undefined> =>
      one(trx, `${findText} FOR UPDATE`, [organizationId]),

    async move(
      trx: Kysely<unknown>,
      organizationId: string,
      status: SignUpStatus,
      at: number,
      userDomainId?: string,
    ): Promise<SignUpRecord> {
      const moved = await one(
        trx,
        `UPDATE sign_ups SET status = $2, updated_at = $3, version = version + 1,
           user_domain_id = coalesce($4, user_domain_id)
         WHERE organization_id = $1 RETURNING ${columns}`,
        [organizationId, status, isoTime(at), userDomainId ?? null],
      );
      if (moved === undefined) throw new Error('a sign-up that was held is gone');
      return moved;
    },
  };
}
