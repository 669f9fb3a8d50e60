// The SQL of a sign-in: one statement reads what there is to prove, one counts, spends and records the outcome.
import { type Database, isoTime } from '../../platform/index.ts';
import { originTexts } from './sign-ins.ts';
import type { Method, Origin, Outcome, RecordKind, User } from './types.ts';
import { type UserRow, userColumns, userOf } from './user-rows.ts';

export const failuresMax = 10;
/** PCI DSS 8.3.4. */
export const lockMs = 30 * 60_000;

export type Credentials = {
  readonly user: User;
  readonly passwordHash: string | undefined;
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

/**
 * A success resets the count, a failure adds to it, and neither touches a locked user. An unknown user
 * goes through the same statement with the same commit. A lock that has ended begins a new count.
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
  ), counted AS (
    UPDATE users AS u SET
      failed_attempts = CASE
        WHEN v.good AND u.password_hash = $7 AND u.status = 'Enabled'
          THEN CASE WHEN $4::text = 'half' THEN u.failed_attempts ELSE 0 END
        WHEN u.locked_until IS NULL THEN u.failed_attempts + 1 ELSE 1 END,
      locked_until = CASE
        WHEN v.good AND u.password_hash = $7 AND u.status = 'Enabled'
          THEN CASE WHEN $4::text = 'half' THEN u.locked_until END
        WHEN u.locked_until IS NULL AND u.failed_attempts + 1 >= $8 THEN $9::timestamptz
        ELSE NULL END,
      last_sign_in_at = CASE
        WHEN v.good AND u.password_hash = $7 AND u.status = 'Enabled' AND $4::text <> 'half'
          THEN $3 ELSE u.last_sign_in_at END
    FROM verdict AS v
    WHERE u.organization_id = $1 AND u.user_id = $2
      AND (u.locked_until IS NULL OR u.locked_until <= $3)
    RETURNING v.good AND u.password_hash = $7 AND u.status = 'Enabled' AS good
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

export type SignInStore = ReturnType<typeof createSignInStore>;

export function createSignInStore(database: Database) {
  return {
    /** Asked for every name, also for one that nobody can have. */
    async credentialsOf(
      organizationId: string,
      usernameKey: string,
    ): Promise<Credentials | undefined> {
      const [row] = await database.query<CredentialsRow>(
        `SELECT ${userColumns}, u.password_hash, u.locked_until, o.secret_sealed,
           EXISTS (SELECT 1 FROM user_passkeys AS p WHERE p.organization_id = $1
             AND p.user_id = u.user_id) AS has_passkey
         FROM users AS u LEFT JOIN user_one_time_passwords AS o
           ON o.organization_id = $1 AND o.user_id = u.user_id
         WHERE u.organization_id = $1 AND u.username_key = $2`,
        [organizationId, usernameKey],
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
