// The SQL of second factors: secrets that are being set up, and recovery codes.
import { type Kysely, sql } from 'kysely';
import { type Database, isoTime } from '../../../platform/index.ts';
import type { Owner } from './one-time-passwords.ts';

type Pending = { readonly sealed: Buffer; readonly signIn: string | undefined };

/** What a second factor is set up on. */
export type SetUp = {
  /** Epoch milliseconds: of what lets the user do it. */
  readonly since: number;
  /** The session that it is done in, which a sign-out of all others has kept. */
  readonly keptSessionId?: string | undefined;
  /** By a password alone, which is no way past a factor that is there. */
  readonly isFirst?: boolean | undefined;
};

type PendingRow = { pending_sealed: Buffer; pending_for: string | null; pending_at: Date };

export function createFactorStore(database: Database) {
  return {
    /** The secret that is being set up, if that began after `since`. */
    async pending(
      { organizationId, userId }: Owner,
      since: number,
    ): Promise<(Pending & { readonly at: number }) | undefined> {
      const [row] = await database.query<PendingRow>(
        `SELECT pending_sealed, pending_for, pending_at FROM user_one_time_passwords
         WHERE organization_id = $1 AND user_id = $2 AND pending_at > $3`,
        [organizationId, userId, isoTime(since)],
      );
      if (row === undefined) return undefined;
      const { pending_sealed: sealed, pending_for: signIn, pending_at: at } = row;
      return { sealed, signIn: signIn ?? undefined, at: at.getTime() };
    },

    /** Beside the confirmed secret, which serves until the new one is confirmed. */
    async begin({ organizationId, userId }: Owner, begun: Pending, at: number): Promise<void> {
      await database.query(
        `INSERT INTO user_one_time_passwords
           (organization_id, user_id, last_step, pending_sealed, pending_for, pending_at)
         VALUES ($1, $2, 0, $3, $4, $5)
         ON CONFLICT (organization_id, user_id) DO UPDATE SET
           pending_sealed = EXCLUDED.pending_sealed, pending_for = EXCLUDED.pending_for,
           pending_at = EXCLUDED.pending_at`,
        [organizationId, userId, begun.sealed, begun.signIn ?? null, isoTime(at)],
      );
    },
  };
}

/**
 * Nobody else changes the user until the transaction ends. False where what lets him set a factor up was ended
 * since: by a new password, a reset, a sign-out.
 */
export async function holdSettingUp(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  { since, keptSessionId, isFirst = false }: SetUp,
): Promise<boolean> {
  const { rows } = await sql`SELECT user_id FROM users
    WHERE organization_id = ${organizationId} AND user_id = ${userId} AND status = 'Enabled'
      AND (tokens_not_before IS NULL OR tokens_not_before <= ${isoTime(since)})
      AND (sessions_ended_at IS NULL OR sessions_ended_at <= ${isoTime(since)}
        OR sessions_ended_but = ${keptSessionId ?? null})
      AND (second_factor <> 'On' OR NOT ${isFirst}::boolean)
    FOR UPDATE`.execute(trx);
  return rows.length > 0;
}

/** False where another secret was begun, or this one confirmed, in between. */
export async function confirmSecret(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  sealed: Buffer,
  step: number,
  at: number,
): Promise<boolean> {
  const { rows } = await sql`UPDATE user_one_time_passwords SET secret_sealed = pending_sealed,
      last_step = ${step}, confirmed_at = ${isoTime(at)}, pending_sealed = NULL,
      pending_for = NULL, pending_at = NULL
    WHERE organization_id = ${organizationId} AND user_id = ${userId}
      AND pending_sealed = ${sealed} RETURNING user_id`.execute(trx);
  return rows.length > 0;
}

/** The codes from before are worth nothing any more. */
export async function replaceRecoveryCodes(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  hashes: readonly Buffer[],
  at: number,
): Promise<void> {
  const codes = JSON.stringify(hashes.map((hash) => ({ code_hash: hash.toString('hex') })));
  await sql`DELETE FROM user_recovery_codes
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`.execute(trx);
  await sql`INSERT INTO user_recovery_codes (organization_id, user_id, code_hash, created_at)
    SELECT ${organizationId}, ${userId}, decode(r.code_hash, 'hex'), ${isoTime(at)}
    FROM jsonb_to_recordset(${codes}::jsonb) AS r(code_hash text)`.execute(trx);
}

/** Everything that the user could prove himself with beside the password is gone. */
export async function forgetFactors(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
): Promise<void> {
  for (const table of ['user_one_time_passwords', 'user_recovery_codes', 'user_passkeys']) {
    await sql`DELETE FROM ${sql.table(table)}
      WHERE organization_id = ${organizationId} AND user_id = ${userId}`.execute(trx);
  }
}

/** `On`, once something is set up. */
export async function turnFactorOn(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  at: number,
): Promise<void> {
  await sql`UPDATE users SET second_factor = 'On', version = version + 1,
      updated_at = ${isoTime(at)}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`.execute(trx);
}
