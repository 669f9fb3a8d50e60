// SQL of second factors: secrets that are being set up, recovery codes, deletion.
import { type Database, isoTime, type Queries, toRecords } from '../../../platform/index.ts';
import type { UserKey } from './one-time-passwords.ts';

type PendingSecret = { readonly sealedSecret: Buffer; readonly signInId?: string | undefined };

/** Conditions under which a second factor may be set up. */
export type SetUpConditions = {
  /** Epoch milliseconds: when the user authenticated for the set-up. */
  readonly since: number;
  /** The session in which the user sets it up; a sign-out of all other sessions has kept it. */
  readonly currentSessionId?: string | undefined;
  /** Only a password was checked: allowed only while the user has no second factor. */
  readonly isFirstFactor?: boolean | undefined;
};

export function createSecondFactorStore(database: Database) {
  return {
    /** The secret that is being set up, if the set-up began after `since`. */
    async findPendingSecret(
      { organizationId, userId }: UserKey,
      since: number,
    ): Promise<(PendingSecret & { readonly startedAt: number }) | undefined> {
      const rows = await database.query(
        `SELECT pending_sealed AS sealed_secret, pending_for AS sign_in_id, pending_at AS started_at
         FROM user_one_time_passwords
         WHERE organization_id = $1 AND user_id = $2 AND pending_at > $3`,
        [organizationId, userId, isoTime(since)],
      );
      return toRecords<PendingSecret & { readonly startedAt: number }>(rows)[0];
    },

    /** The confirmed secret stays valid until the new one is confirmed. */
    async savePendingSecret(
      { organizationId, userId }: UserKey,
      pendingSecret: PendingSecret,
      now: number,
    ): Promise<void> {
      await database.query(
        `INSERT INTO user_one_time_passwords
           (organization_id, user_id, last_step, pending_sealed, pending_for, pending_at)
         VALUES ($1, $2, 0, $3, $4, $5)
         ON CONFLICT (organization_id, user_id) DO UPDATE SET
           pending_sealed = EXCLUDED.pending_sealed, pending_for = EXCLUDED.pending_for,
           pending_at = EXCLUDED.pending_at`,
        [
          organizationId,
          userId,
          pendingSecret.sealedSecret,
          pendingSecret.signInId ?? null,
          isoTime(now),
        ],
      );
    },
  };
}

/**
 * Locks the user until the transaction ends. False if the authentication for the set-up was revoked
 * since then: by a new password, a reset or a sign-out.
 */
export async function lockUserForSetUp(
  trx: Queries,
  { organizationId, userId }: UserKey,
  { since, currentSessionId, isFirstFactor = false }: SetUpConditions,
): Promise<boolean> {
  const rows = await trx.query(
    `SELECT user_id FROM users
    WHERE organization_id = $1 AND user_id = $2 AND status = 'Enabled'
      AND (tokens_not_before IS NULL OR tokens_not_before <= $3)
      AND (sessions_ended_at IS NULL OR sessions_ended_at <= $3 OR sessions_ended_but = $4)
      AND (second_factor <> 'On' OR NOT $5::boolean) FOR UPDATE`,
    [organizationId, userId, isoTime(since), currentSessionId ?? null, isFirstFactor],
  );
  return rows.length > 0;
}

/** False if another set-up began, or this secret was confirmed, in the meantime. */
export async function confirmPendingSecret(
  trx: Queries,
  { organizationId, userId }: UserKey,
  sealedSecret: Buffer,
  step: number,
  now: number,
): Promise<boolean> {
  const rows = await trx.query(
    `UPDATE user_one_time_passwords SET secret_sealed = pending_sealed,
      last_step = $1, confirmed_at = $2, pending_sealed = NULL,
      pending_for = NULL, pending_at = NULL WHERE organization_id = $3 AND user_id = $4
      AND pending_sealed = $5 RETURNING user_id`,
    [step, isoTime(now), organizationId, userId, sealedSecret],
  );
  return rows.length > 0;
}

/** The earlier codes are no longer valid. */
export async function replaceRecoveryCodes(
  trx: Queries,
  { organizationId, userId }: UserKey,
  hashes: readonly Buffer[],
  now: number,
): Promise<void> {
  const codes = JSON.stringify(hashes.map((hash) => ({ code_hash: hash.toString('hex') })));
  await trx.query('DELETE FROM user_recovery_codes WHERE organization_id = $1 AND user_id = $2', [
    organizationId,
    userId,
  ]);
  await trx.query(
    `INSERT INTO user_recovery_codes (organization_id, user_id, code_hash, created_at)
    SELECT $1, $2, decode(r.code_hash, 'hex'), $3
    FROM jsonb_to_recordset($4::jsonb) AS r(code_hash text)`,
    [organizationId, userId, isoTime(now), codes],
  );
}

/** Deletes everything but the password that the user can authenticate with. */
export async function deleteSecondFactors(
  trx: Queries,
  { organizationId, userId }: UserKey,
): Promise<void> {
  for (const table of ['user_one_time_passwords', 'user_recovery_codes', 'user_passkeys']) {
    await trx.query(`DELETE FROM ${table} WHERE organization_id = $1 AND user_id = $2`, [
      organizationId,
      userId,
    ]);
  }
}

/** Sets the second factor to `On`. */
export async function enableSecondFactor(
  trx: Queries,
  { organizationId, userId }: UserKey,
  now: number,
): Promise<void> {
  await trx.query(
    `UPDATE users SET second_factor = 'On', version = version + 1, updated_at = $1
    WHERE organization_id = $2 AND user_id = $3`,
    [isoTime(now), organizationId, userId],
  );
}
