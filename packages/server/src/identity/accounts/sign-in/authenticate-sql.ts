// SQL of authentication: one statement reads the credentials; one counts the attempt, uses codes up and records the outcome.
import { hash } from 'node:crypto';
import { type Database, isoTime, toRecords } from '../../../platform/index.ts';
import { originColumns } from '../sign-in-attempts/sign-in-history.ts';
import type {
  AttemptOrigin,
  AuthenticationMethod,
  SignInOutcome,
  SignInRecordKind,
  User,
} from '../types.ts';
import { type StoredUser, userColumnsSql, withPermissions } from '../users/user-sql.ts';

export const maxFailures = 10;
/** PCI DSS 8.3.4. */
export const lockDurationMs = 30 * 60_000;
/** Per user: the sources that were used last. */
const maxKnownSources = 20;

export type Credentials = {
  readonly user: User;
  readonly passwordHash: string | undefined;
  /** The lock of the source if the user has signed in from it before, otherwise the lock of the user. */
  readonly lockedUntil: number | undefined;
  readonly sealedOtpSecret: Buffer | undefined;
  readonly hasPasskey: boolean;
};

/**
 * What the database must still check. `proven`: nothing. `otp`, `recovery`: the code must not have
 * been used before. `password-only`: the password was right and the second factor follows, so the
 * attempt counts neither as a success nor as a failure. `wrong`: the attempt has failed already.
 */
export type FactorProof =
  | { readonly kind: 'proven' | 'password-only' | 'wrong' }
  | { readonly kind: 'otp'; readonly step: number }
  | { readonly kind: 'recovery'; readonly codeHash: Buffer };

export type AttemptResult = {
  readonly organizationId: string;
  readonly recordId: string;
  readonly attemptedAt: number;
  /** For an unknown user a random ID, so that the statement does the same work. */
  readonly userId: string;
  readonly isKnown: boolean;
  /** It must still be the current hash: a reset may have replaced it. */
  readonly passwordHash: string | undefined;
  readonly proof: FactorProof;
  readonly outcomeIfProven: SignInOutcome;
  readonly outcomeOtherwise: SignInOutcome;
  readonly methodsIfProven: readonly AuthenticationMethod[];
  readonly methodsOtherwise: readonly AuthenticationMethod[];
  readonly kind: SignInRecordKind;
  readonly origin: AttemptOrigin;
};

/** The password was right, is still the password of the user, and the user may sign in. */
const isAcceptedSql = "(v.is_proven AND u.password_hash = $7 AND u.status = 'Enabled')";

/** The columns that an attempt changes in the row that counts it. */
const countAttemptSql = (counter: 'u' | 'k') => `failed_attempts = CASE
        WHEN ${isAcceptedSql} THEN CASE WHEN $4::text = 'password-only' THEN ${counter}.failed_attempts ELSE 0 END
        WHEN ${counter}.locked_until IS NULL THEN ${counter}.failed_attempts + 1 ELSE 1 END,
      locked_until = CASE
        WHEN ${isAcceptedSql} THEN CASE WHEN $4::text = 'password-only' THEN ${counter}.locked_until END
        WHEN ${counter}.locked_until IS NULL AND ${counter}.failed_attempts + 1 >= $8
          THEN $9::timestamptz
        ELSE NULL END`;

const isUnlockedSql = (counter: 'u' | 'k') =>
  `(${counter}.locked_until IS NULL OR ${counter}.locked_until <= $3)`;

/**
 * A success resets the count, a failure increases it, and neither changes a locked user. An unknown user
 * runs the same statement with the same commit. After a lock has ended, a new count begins.
 *
 * A source from which the user has signed in before has its own count and lock: an attacker who locks
 * the user does not lock the source. A new password deletes the sources: if the source was deleted before
 * its row is updated, no row counts the attempt, and the attempt fails.
 */
const recordAttemptSql = `WITH used_step AS (
    UPDATE user_one_time_passwords SET last_step = $5
    WHERE organization_id = $1 AND user_id = $2 AND $4::text = 'otp' AND last_step < $5::bigint
    RETURNING user_id
  ), used_code AS (
    UPDATE user_recovery_codes SET used_at = $3
    WHERE organization_id = $1 AND user_id = $2 AND $4::text = 'recovery' AND code_hash = $6
      AND used_at IS NULL
    RETURNING user_id
  ), proof AS (
    SELECT CASE $4::text WHEN 'proven' THEN true WHEN 'password-only' THEN true
      WHEN 'otp' THEN EXISTS (SELECT 1 FROM used_step)
      WHEN 'recovery' THEN EXISTS (SELECT 1 FROM used_code) ELSE false END AS is_proven
  ), known_source AS (
    SELECT source_hash FROM user_known_sources
    WHERE organization_id = $1 AND user_id = $2 AND source_hash = $21::bytea
  ), counted_user AS (
    UPDATE users AS u SET ${countAttemptSql('u')},
      last_sign_in_at = CASE WHEN ${isAcceptedSql} AND $4::text <> 'password-only' THEN $3 ELSE u.last_sign_in_at END
    FROM proof AS v
    WHERE u.organization_id = $1 AND u.user_id = $2 AND ${isUnlockedSql('u')}
      AND NOT EXISTS (SELECT FROM known_source)
    RETURNING ${isAcceptedSql} AS is_accepted
  ), counted_source AS (
    UPDATE user_known_sources AS k SET ${countAttemptSql('k')},
      used_at = CASE WHEN ${isAcceptedSql} AND $4::text <> 'password-only' THEN $3 ELSE k.used_at END
    FROM proof AS v, users AS u
    WHERE u.organization_id = $1 AND u.user_id = $2 AND k.organization_id = $1 AND k.user_id = $2
      AND k.source_hash = $21::bytea AND ${isUnlockedSql('k')}
    RETURNING ${isAcceptedSql} AS is_accepted
  ), signed_in AS (
    UPDATE users SET last_sign_in_at = $3
    WHERE organization_id = $1 AND user_id = $2 AND $4::text <> 'password-only'
      AND EXISTS (SELECT FROM counted_source WHERE is_accepted)
  ), counted AS (
    SELECT is_accepted FROM counted_user UNION ALL SELECT is_accepted FROM counted_source
  ), removed_sources AS (
    DELETE FROM user_known_sources AS k USING (
      SELECT source_hash FROM user_known_sources
      WHERE organization_id = $1 AND user_id = $2 AND source_hash <> $21::bytea
      ORDER BY used_at DESC OFFSET ${maxKnownSources - 1}) AS old
    WHERE k.organization_id = $1 AND k.user_id = $2 AND k.source_hash = old.source_hash
      AND EXISTS (SELECT FROM counted_user WHERE is_accepted)
  ), added_source AS (
    INSERT INTO user_known_sources (organization_id, user_id, source_hash, failed_attempts, used_at)
    SELECT $1, $2, $21::bytea, 0, $3 FROM counted_user
    WHERE is_accepted AND $4::text <> 'password-only' AND $21::bytea IS NOT NULL
    ON CONFLICT DO NOTHING
  ), result AS (
    SELECT coalesce((SELECT is_accepted FROM counted), false) AS is_accepted,
      EXISTS (SELECT 1 FROM counted) AS counted
  )
  INSERT INTO sign_in_records (organization_id, record_id, at, user_id, client_id, kind, outcome,
    methods, address, user_agent, request_id)
  SELECT $1, $10::uuid, $3, CASE WHEN $11::boolean THEN $2::uuid END, $12::text, $13::text,
    CASE WHEN result.is_accepted THEN $14::text WHEN result.counted OR NOT $11::boolean THEN $15::text
      ELSE 'Locked' END,
    CASE WHEN result.is_accepted THEN $16::jsonb ELSE $17::jsonb END, $18::text, $19::text, $20::text
  FROM result
  RETURNING outcome`;

const hashSource = (source: string | undefined): Buffer | null =>
  source === undefined ? null : hash('sha256', source, 'buffer');

export type AuthenticationStore = ReturnType<typeof createAuthenticationStore>;

export function createAuthenticationStore(database: Database) {
  return {
    /** Runs for every name, also for one that is not allowed. */
    async findCredentials(
      organizationId: string,
      usernameKey: string,
      source: string | undefined,
    ): Promise<Credentials | undefined> {
      const rows = await database.query(
        `SELECT ${userColumnsSql}, u.password_hash, o.secret_sealed AS sealed_otp_secret,
           CASE WHEN k.user_id IS NULL THEN u.locked_until ELSE k.locked_until END AS locked_until,
           EXISTS (SELECT 1 FROM user_passkeys AS p WHERE p.organization_id = $1
             AND p.user_id = u.user_id) AS has_passkey
         FROM users AS u LEFT JOIN user_one_time_passwords AS o
           ON o.organization_id = $1 AND o.user_id = u.user_id
         LEFT JOIN user_known_sources AS k
           ON k.organization_id = $1 AND k.user_id = u.user_id AND k.source_hash = $3
         WHERE u.organization_id = $1 AND u.username_key = $2`,
        [organizationId, usernameKey, hashSource(source)],
      );
      const [credentials] = toRecords<StoredUser & Omit<Credentials, 'user'>>(rows);
      if (credentials === undefined) return undefined;
      const { passwordHash, lockedUntil, sealedOtpSecret, hasPasskey, ...user } = credentials;
      return {
        user: withPermissions(user),
        passwordHash,
        lockedUntil,
        sealedOtpSecret,
        hasPasskey,
      };
    },

    async recordAttempt(result: AttemptResult): Promise<SignInOutcome> {
      const { proof, attemptedAt } = result;
      const origin = originColumns(result.origin);
      const [row] = await database.query<{ outcome: SignInOutcome }>(recordAttemptSql, [
        result.organizationId,
        result.userId,
        isoTime(attemptedAt),
        proof.kind,
        proof.kind === 'otp' ? proof.step : null,
        proof.kind === 'recovery' ? proof.codeHash : null,
        result.passwordHash ?? null,
        maxFailures,
        isoTime(attemptedAt + lockDurationMs),
        result.recordId,
        result.isKnown,
        origin.clientId,
        result.kind,
        result.outcomeIfProven,
        result.outcomeOtherwise,
        JSON.stringify(result.methodsIfProven),
        JSON.stringify(result.methodsOtherwise),
        origin.address,
        origin.userAgent,
        origin.requestId,
        hashSource(result.origin.source),
      ]);
      if (row === undefined) throw new Error('a sign-in attempt was not recorded');
      return row.outcome;
    },

    /** Replaces only the given hash: a new password that was set at the same time stays. */
    async replaceHash(user: User, from: string, to: string): Promise<void> {
      await database.query(
        `UPDATE users SET password_hash = $4
         WHERE organization_id = $1 AND user_id = $2 AND password_hash = $3`,
        [user.organizationId, user.userId, from, to],
      );
    },
  };
}
