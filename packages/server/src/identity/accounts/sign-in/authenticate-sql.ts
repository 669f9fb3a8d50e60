// The SQL of a sign-in: one statement reads what there is to prove, one counts, spends and records the outcome.
import { hash } from 'node:crypto';
import { type Database, isoTime } from '../../../platform/index.ts';
import { originTexts } from '../sign-in-attempts/sign-in-history.ts';
import type { Method, Origin, Outcome, RecordKind, User } from '../types.ts';
import { type UserRow, userColumns, userOf } from '../users/user-sql.ts';

export const failuresMax = 10;
/** PCI DSS 8.3.4. */
export const lockMs = 30 * 60_000;
/** Of each user: the sources that were used last. */
const knownSourcesMax = 20;

export type Credentials = {
  readonly user: User;
  readonly passwordHash: string | undefined;
  /** Of the source, where the user has signed in with it before; else of the user. */
  readonly lockedUntil: number | undefined;
  readonly otpSealed: Buffer | undefined;
  readonly hasPasskey: boolean;
};

type CredentialsRow = UserRow & {
  password_hash: string | null;
  locked_until: Date | null;
  secret_sealed: Buffer | null;
  has_passkey: boolean;
};

/**
 * What the database has to find out. `proven`: nothing more. `otp`, `recovery`: the code must not
 * have been used. `half`: the password was right, and the rest is still to come, so that nothing is
 * counted, neither for nor against. `wrong`: it is a failure already.
 */
export type Claim =
  | { readonly is: 'proven' | 'half' | 'wrong' }
  | { readonly is: 'otp'; readonly step: number }
  | { readonly is: 'recovery'; readonly codeHash: Buffer };

export type Settlement = {
  readonly organizationId: string;
  readonly recordId: string;
  readonly at: number;
  /** Of nobody: some other id, so that the statement does the same. */
  readonly userId: string;
  readonly isKnown: boolean;
  /** It must still be this one: a reset may have come between. */
  readonly passwordHash: string | undefined;
  readonly claim: Claim;
  readonly ifProven: Outcome;
  readonly ifNot: Outcome;
  readonly methodsIfProven: readonly Method[];
  readonly methodsIfNot: readonly Method[];
  readonly kind: RecordKind;
  readonly origin: Origin;
};

/** The password was right, it still is the password of the user, and the user may sign in. */
const isGood = "(v.good AND u.password_hash = $7 AND u.status = 'Enabled')";

/** What an attempt changes in the row `counter` that counts it. */
const countText = (counter: 'u' | 'k') => `failed_attempts = CASE
        WHEN ${isGood} THEN CASE WHEN $4::text = 'half' THEN ${counter}.failed_attempts ELSE 0 END
        WHEN ${counter}.locked_until IS NULL THEN ${counter}.failed_attempts + 1 ELSE 1 END,
      locked_until = CASE
        WHEN ${isGood} THEN CASE WHEN $4::text = 'half' THEN ${counter}.locked_until END
        WHEN ${counter}.locked_until IS NULL AND ${counter}.failed_attempts + 1 >= $8
          THEN $9::timestamptz
        ELSE NULL END`;

const isUnlocked = (counter: 'u' | 'k') =>
  `(${counter}.locked_until IS NULL OR ${counter}.locked_until <= $3)`;

/**
 * A success resets the count, a failure adds to it, and neither touches a locked user. An unknown user
 * goes through the same statement with the same commit. A lock that has ended begins a new count.
 *
 * A source that the user has signed in with before has a count and a lock of its own: an attacker who locks
 * the user does not lock the source. A new password deletes the sources, so one that is not there any more when
 * its row is written was counted by nothing, and the attempt is refused.
 */
const settleText = `WITH stepped AS (
    UPDATE user_one_time_passwords SET last_step = $5
    WHERE organization_id = $1 AND user_id = $2 AND $4::text = 'otp' AND last_step < $5::bigint
    RETURNING user_id
  ), spent AS (
    UPDATE user_recovery_codes SET used_at = $3
    WHERE organization_id = $1 AND user_id = $2 AND $4::text = 'recovery' AND code_hash = $6
      AND used_at IS NULL
    RETURNING user_id
  ), verdict AS (
    SELECT CASE $4::text WHEN 'proven' THEN true WHEN 'half' THEN true
      WHEN 'otp' THEN EXISTS (SELECT 1 FROM stepped)
      WHEN 'recovery' THEN EXISTS (SELECT 1 FROM spent) ELSE false END AS good
  ), known AS (
    SELECT source_hash FROM user_known_sources
    WHERE organization_id = $1 AND user_id = $2 AND source_hash = $21::bytea
  ), counted_user AS (
    UPDATE users AS u SET ${countText('u')},
      last_sign_in_at = CASE WHEN ${isGood} AND $4::text <> 'half' THEN $3 ELSE u.last_sign_in_at END
    FROM verdict AS v
    WHERE u.organization_id = $1 AND u.user_id = $2 AND ${isUnlocked('u')}
      AND NOT EXISTS (SELECT FROM known)
    RETURNING ${isGood} AS good
  ), counted_source AS (
    UPDATE user_known_sources AS k SET ${countText('k')},
      used_at = CASE WHEN ${isGood} AND $4::text <> 'half' THEN $3 ELSE k.used_at END
    FROM verdict AS v, users AS u
    WHERE u.organization_id = $1 AND u.user_id = $2 AND k.organization_id = $1 AND k.user_id = $2
      AND k.source_hash = $21::bytea AND ${isUnlocked('k')}
    RETURNING ${isGood} AS good
  ), signed_in AS (
    UPDATE users SET last_sign_in_at = $3
    WHERE organization_id = $1 AND user_id = $2 AND $4::text <> 'half'
      AND EXISTS (SELECT FROM counted_source WHERE good)
  ), counted AS (
    SELECT good FROM counted_user UNION ALL SELECT good FROM counted_source
  ), forgotten AS (
    DELETE FROM user_known_sources AS k USING (
      SELECT source_hash FROM user_known_sources
      WHERE organization_id = $1 AND user_id = $2 AND source_hash <> $21::bytea
      ORDER BY used_at DESC OFFSET ${knownSourcesMax - 1}) AS old
    WHERE k.organization_id = $1 AND k.user_id = $2 AND k.source_hash = old.source_hash
      AND EXISTS (SELECT FROM counted_user WHERE good)
  ), remembered AS (
    INSERT INTO user_known_sources (organization_id, user_id, source_hash, failed_attempts, used_at)
    SELECT $1, $2, $21::bytea, 0, $3 FROM counted_user
    WHERE good AND $4::text <> 'half' AND $21::bytea IS NOT NULL
    ON CONFLICT DO NOTHING
  ), told AS (
    SELECT coalesce((SELECT good FROM counted), false) AS good,
      EXISTS (SELECT 1 FROM counted) AS counted
  )
  INSERT INTO sign_in_records (organization_id, record_id, at, user_id, client_id, kind, outcome,
    methods, address, user_agent, request_id)
  SELECT $1, $10::uuid, $3, CASE WHEN $11::boolean THEN $2::uuid END, $12::text, $13::text,
    CASE WHEN told.good THEN $14::text WHEN told.counted OR NOT $11::boolean THEN $15::text
      ELSE 'Locked' END,
    CASE WHEN told.good THEN $16::jsonb ELSE $17::jsonb END, $18::text, $19::text, $20::text
  FROM told
  RETURNING outcome`;

const sourceHash = (source: string | undefined): Buffer | null =>
  source === undefined ? null : hash('sha256', source, 'buffer');

export type SignInStore = ReturnType<typeof createSignInStore>;

export function createSignInStore(database: Database) {
  return {
    /** Asked for every name, also for one that nobody can have. */
    async credentialsOf(
      organizationId: string,
      usernameKey: string,
      source: string | undefined,
    ): Promise<Credentials | undefined> {
      const [row] = await database.query<CredentialsRow>(
        `SELECT ${userColumns}, u.password_hash, o.secret_sealed,
           CASE WHEN k.user_id IS NULL THEN u.locked_until ELSE k.locked_until END AS locked_until,
           EXISTS (SELECT 1 FROM user_passkeys AS p WHERE p.organization_id = $1
             AND p.user_id = u.user_id) AS has_passkey
         FROM users AS u LEFT JOIN user_one_time_passwords AS o
           ON o.organization_id = $1 AND o.user_id = u.user_id
         LEFT JOIN user_known_sources AS k
           ON k.organization_id = $1 AND k.user_id = u.user_id AND k.source_hash = $3
         WHERE u.organization_id = $1 AND u.username_key = $2`,
        [organizationId, usernameKey, sourceHash(source)],
      );
      if (row === undefined) return undefined;
      return {
        user: userOf(row),
        passwordHash: row.password_hash ?? undefined,
        lockedUntil: row.locked_until?.getTime(),
        otpSealed: row.secret_sealed ?? undefined,
        hasPasskey: row.has_passkey,
      };
    },

    async settle(done: Settlement): Promise<Outcome> {
      const { claim, at } = done;
      const origin = originTexts(done.origin);
      const [row] = await database.query<{ outcome: Outcome }>(settleText, [
        done.organizationId,
        done.userId,
        isoTime(at),
        claim.is,
        claim.is === 'otp' ? claim.step : null,
        claim.is === 'recovery' ? claim.codeHash : null,
        done.passwordHash ?? null,
        failuresMax,
        isoTime(at + lockMs),
        done.recordId,
        done.isKnown,
        origin.clientId,
        done.kind,
        done.ifProven,
        done.ifNot,
        JSON.stringify(done.methodsIfProven),
        JSON.stringify(done.methodsIfNot),
        origin.address,
        origin.userAgent,
        origin.requestId,
        sourceHash(done.origin.source),
      ]);
      if (row === undefined) throw new Error('a sign-in left no record');
      return row.outcome;
    },

    /** Only over the hash that it replaces: whoever changed the password meanwhile wins. */
    async rehash(user: User, from: string, to: string): Promise<void> {
      await database.query(
        `UPDATE users SET password_hash = $4
         WHERE organization_id = $1 AND user_id = $2 AND password_hash = $3`,
        [user.organizationId, user.userId, from, to],
      );
    },
  };
}
