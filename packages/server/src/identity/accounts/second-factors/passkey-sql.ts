// SQL of passkeys and of the challenges that they sign.
import { type Database, isoTime, type Queries, toRecords } from '../../../platform/index.ts';
import type { UserKey } from './one-time-passwords.ts';

export type ChallengePurpose = 'register' | 'sign-in';

export type StoredPasskey = {
  readonly credentialId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number | undefined;
};

export function createPasskeyStore(database: Database) {
  return {
    async list({ organizationId, userId }: UserKey): Promise<StoredPasskey[]> {
      const rows = await database.query(
        `SELECT credential_id, public_key, counter, transports, name, created_at, last_used_at
         FROM user_passkeys WHERE organization_id = $1 AND user_id = $2
         ORDER BY created_at, credential_id`,
        [organizationId, userId],
      );
      return toRecords(rows);
    },

    async insertChallenge(
      { organizationId, userId }: UserKey,
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

    /** Deletes the challenge and returns its expiry time; the second call for it gets undefined. */
    async consumeChallenge(
      { organizationId, userId }: UserKey,
      challengeHash: Buffer,
      purpose: ChallengePurpose,
      now: number,
    ): Promise<number | undefined> {
      const [consumed] = await database.query<{ expires_at: Date }>(
        `DELETE FROM user_challenges
         WHERE organization_id = $1 AND challenge_hash = $2 AND user_id = $3 AND purpose = $4
           AND expires_at > $5 RETURNING expires_at`,
        [organizationId, challengeHash, userId, purpose, isoTime(now)],
      );
      return consumed?.expires_at.getTime();
    },

    /** False if the counter has not increased; authenticators without a counter stay at 0. */
    async updateCounter(
      { organizationId, userId }: UserKey,
      credentialId: string,
      counter: number,
      now: number,
    ): Promise<boolean> {
      const updated = await database.query(
        `UPDATE user_passkeys SET counter = $4, last_used_at = $5
         WHERE organization_id = $1 AND user_id = $2 AND credential_id = $3
           AND (counter < $4 OR (counter = 0 AND $4 = 0)) RETURNING user_id`,
        [organizationId, userId, credentialId, counter, isoTime(now)],
      );
      return updated.length > 0;
    },
  };
}

/** False if the passkey exists already or the user has the maximum number. */
export async function insertPasskey(
  trx: Queries,
  { organizationId, userId }: UserKey,
  passkey: Omit<StoredPasskey, 'lastUsedAt'>,
  max: number,
): Promise<boolean> {
  await lockUser(trx, { organizationId, userId });
  const { credentialId, publicKey, counter, transports, name, createdAt } = passkey;
  const inserted = await trx.query(
    `INSERT INTO user_passkeys (organization_id, user_id, credential_id,
      public_key, counter, transports, name, created_at) SELECT $1, $2, $3, $4, $5,
      $6::jsonb, $7, $8 WHERE (SELECT count(*) FROM user_passkeys
      WHERE organization_id = $1 AND user_id = $2) < $9
    ON CONFLICT DO NOTHING RETURNING user_id`,
    [
      organizationId,
      userId,
      credentialId,
      publicKey,
      counter,
      JSON.stringify(transports),
      name,
      isoTime(createdAt),
      max,
    ],
  );
  return inserted.length > 0;
}

/** Without the last factor, the user must set one up again. False if there was no such passkey. */
export async function deletePasskey(
  trx: Queries,
  { organizationId, userId }: UserKey,
  credentialId: string,
  now: number,
): Promise<boolean> {
  await lockUser(trx, { organizationId, userId });
  const deleted = await trx.query(
    `DELETE FROM user_passkeys WHERE organization_id = $1
      AND user_id = $2 AND credential_id = $3 RETURNING user_id`,
    [organizationId, userId, credentialId],
  );
  if (deleted.length === 0) return false;
  await trx.query(
    `UPDATE users SET second_factor = 'Required', version = version + 1, updated_at = $1
    WHERE organization_id = $2 AND user_id = $3
      AND NOT EXISTS (SELECT 1 FROM user_passkeys AS p
        WHERE p.organization_id = $2 AND p.user_id = $3)
      AND NOT EXISTS (SELECT 1 FROM user_one_time_passwords AS o
        WHERE o.organization_id = $2 AND o.user_id = $3 AND o.secret_sealed IS NOT NULL)`,
    [isoTime(now), organizationId, userId],
  );
  return true;
}

/** Without the lock, each of two concurrent changes would still see the passkey of the other. */
async function lockUser(trx: Queries, { organizationId, userId }: UserKey): Promise<void> {
  await trx.query(
    'SELECT user_id FROM users WHERE organization_id = $1 AND user_id = $2 FOR UPDATE',
    [organizationId, userId],
  );
}
