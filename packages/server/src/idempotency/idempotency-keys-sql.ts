// The SQL of idempotency keys.
import type { Queries } from '../platform/index.ts';

export type KeyRow = {
  readonly claimId: string;
  readonly print: Buffer;
  readonly content: Buffer | null;
  readonly answer: Buffer | null;
  readonly heldUntil: Date;
};

type KeyReference = { readonly organizationId: string; readonly hash: Buffer };
type Claim = KeyReference & { readonly claimId: string };

/** An expired key is like a new one, also before it is deleted. */
const claimText = `INSERT INTO idempotency_keys
    (organization_id, key_hash, claim_id, print, claimed_at, held_until)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (organization_id, key_hash) DO UPDATE SET claim_id = EXCLUDED.claim_id,
    print = EXCLUDED.print, content = NULL, answer = NULL, claimed_at = EXCLUDED.claimed_at,
    held_until = EXCLUDED.held_until
  WHERE idempotency_keys.claimed_at < $7
  RETURNING claim_id`;

const findText = `SELECT claim_id AS "claimId", print, content, answer, held_until AS "heldUntil"
  FROM idempotency_keys WHERE organization_id = $1 AND key_hash = $2`;

const claimCondition = 'organization_id = $1 AND key_hash = $2 AND claim_id = $3';

const sweepText = `DELETE FROM idempotency_keys WHERE (organization_id, key_hash) IN (
  SELECT organization_id, key_hash FROM idempotency_keys WHERE claimed_at < $1
  ORDER BY claimed_at LIMIT $2) RETURNING 1 AS one`;

export type KeyStore = ReturnType<typeof createKeyStore>;

export function createKeyStore(database: Queries) {
  return {
    async claim(
      { organizationId, hash, claimId }: Claim,
      values: {
        readonly print: Buffer;
        readonly at: string;
        readonly heldUntil: string;
        readonly endedBefore: string;
      },
    ): Promise<boolean> {
      const rows = await database.query(claimText, [
        organizationId,
        hash,
        claimId,
        values.print,
        values.at,
        values.heldUntil,
        values.endedBefore,
      ]);
      return rows.length === 1;
    },

    async find({ organizationId, hash }: KeyReference): Promise<KeyRow | undefined> {
      const [row] = await database.query<KeyRow>(findText, [organizationId, hash]);
      return row;
    },

    async keep({ organizationId, hash, claimId }: Claim, answer: Buffer, content: Buffer | null) {
      await database.query(
        `UPDATE idempotency_keys SET answer = $4, content = $5 WHERE ${claimCondition}`,
        [organizationId, hash, claimId, answer, content],
      );
    },

    async abandon({ organizationId, hash, claimId }: Claim, at: string): Promise<void> {
      await database.query(`UPDATE idempotency_keys SET held_until = $4 WHERE ${claimCondition}`, [
        organizationId,
        hash,
        claimId,
        at,
      ]);
    },

    async remove({ organizationId, hash, claimId }: Claim): Promise<void> {
      await database.query(`DELETE FROM idempotency_keys WHERE ${claimCondition}`, [
        organizationId,
        hash,
        claimId,
      ]);
    },

    /** @returns the number of deleted keys */
    async sweep(before: string, limit: number): Promise<number> {
      return (await database.query(sweepText, [before, limit])).length;
    },
  };
}
