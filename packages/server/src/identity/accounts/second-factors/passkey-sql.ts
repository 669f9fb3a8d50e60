// The SQL of passkeys, and of the challenges that they sign.
import { type Kysely, sql } from 'kysely';
import { type Database, isoTime } from '../../../platform/index.ts';
import type { Owner } from './one-time-passwords.ts';

export type ChallengePurpose = 'register' | 'sign-in';

export type StoredPasskey = {
  readonly credentialId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | undefined;
};

type Row = {
  credential_id: string;
  public_key: Buffer;
  counter: number;
  transports: string[];
  name: string;
  created_at: Date;
  last_used_at: Date | null;
};

export function createPasskeyStore(database: Database) {
  return {
    async list({ organizationId, userId }: Owner): Promise<StoredPasskey[]> {
      const rows = await database.query<Row>(
        `SELECT credential_id, public_key, counter, transports, name, created_at, last_used_at
         FROM user_passkeys WHERE organization_id = $1 AND user_id = $2
         ORDER BY created_at, credential_id`,
        [organizationId, userId],
      );
      return rows.map((row) => ({
        credentialId: row.credential_id,
        publicKey: row.public_key,
        counter: row.counter,
        transports: row.transports,
        name: row.name,
        createdAt: row.created_at.getTime(),
        lastUsedAt: row.last_used_at?.getTime(),
      }));
    },

    async keepChallenge(
      { organizationId, userId }: Owner,
      challengeHash: Buffer,
      purpose: ChallengePurpose,
      expiresAt: number,
    ): Promise<void> {
      await database.query(
        `INSERT INTO user_challenges (organization_id, challenge_hash, user_id, purpose, expires_at)
         VALUES ($1, $2, $3, $4, $5)`,
        [organizationId, challengeHash, userId, purpose, isoTime(expiresAt)],
      );
    },

    /** When it would have expired, once: the row goes with the first who asks for it. */
    async takeChallenge(
      { organizationId, userId }: Owner,
      challengeHash: Buffer,
      purpose: ChallengePurpose,
      at: number,
    ): Promise<number | undefined> {
      const [taken] = await database.query<{ expires_at: Date }>(
        `DELETE FROM user_challenges
         WHERE organization_id = $1 AND challenge_hash = $2 AND user_id = $3 AND purpose = $4
           AND expires_at > $5 RETURNING expires_at`,
        [organizationId, challengeHash, userId, purpose, isoTime(at)],
      );
      return taken?.expires_at.getTime();
    },

    /** False where the counter has not grown since; authenticators without one stay at 0. */
    async count(
      { organizationId, userId }: Owner,
      credentialId: string,
      counter: number,
      at: number,
    ): Promise<boolean> {
      const counted = await database.query(
        `UPDATE user_passkeys SET counter = $4, last_used_at = $5
         WHERE organization_id = $1 AND user_id = $2 AND credential_id = $3
           AND (counter < $4 OR (counter = 0 AND $4 = 0)) RETURNING user_id`,
        [organizationId, userId, credentialId, counter, isoTime(at)],
      );
      return counted.length > 0;
    },
  };
}

/** False where it is there already, or the user has as many as one may have. */
export async function insertPasskey(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  passkey: Omit<StoredPasskey, 'lastUsedAt'>,
  most: number,
): Promise<boolean> {
  await lockUser(trx, { organizationId, userId });
  const { credentialId, publicKey, counter, transports, name, createdAt } = passkey;
  const made = await sql`INSERT INTO user_passkeys (organization_id, user_id, credential_id,
      public_key, counter, transports, name, created_at)
    SELECT ${organizationId}, ${userId}, ${credentialId}, ${publicKey}, ${counter},
      ${JSON.stringify(transports)}::jsonb, ${name}, ${isoTime(createdAt)}
    WHERE (SELECT count(*) FROM user_passkeys
      WHERE organization_id = ${organizationId} AND user_id = ${userId}) < ${most}
    ON CONFLICT DO NOTHING RETURNING user_id`.execute(trx);
  return made.rows.length > 0;
}

/** Whoever loses the last factor has to set one up again. False where there was no such passkey. */
export async function deletePasskey(
  trx: Kysely<unknown>,
  { organizationId, userId }: Owner,
  credentialId: string,
  at: number,
): Promise<boolean> {
  await lockUser(trx, { organizationId, userId });
  const gone = await sql`DELETE FROM user_passkeys WHERE organization_id = ${organizationId}
      AND user_id = ${userId} AND credential_id = ${credentialId} RETURNING user_id`.execute(trx);
  if (gone.rows.length === 0) return false;
  await sql`UPDATE users SET second_factor = 'Required', version = version + 1,
      updated_at = ${isoTime(at)}
    WHERE organization_id = ${organizationId} AND user_id = ${userId}
      AND NOT EXISTS (SELECT 1 FROM user_passkeys AS p
        WHERE p.organization_id = ${organizationId} AND p.user_id = ${userId})
      AND NOT EXISTS (SELECT 1 FROM user_one_time_passwords AS o
        WHERE o.organization_id = ${organizationId} AND o.user_id = ${userId}
          AND o.secret_sealed IS NOT NULL)`.execute(trx);
  return true;
}

/** Two changes at once would each see the other's passkey. */
async function lockUser(trx: Kysely<unknown>, { organizationId, userId }: Owner): Promise<void> {
  await sql`SELECT user_id FROM users
    WHERE organization_id = ${organizationId} AND user_id = ${userId} FOR UPDATE`.execute(trx);
}
