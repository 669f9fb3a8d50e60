// Stores encrypted cards, finds them by token, encrypts them again and deletes unused ones.
import type { Database, PreparedStatement, Queries } from '../platform/index.ts';

/**
 * A retired key accepts no new cards. The statement then inserts no row, and the vault uses its
 * next key.
 */
export const insertCards: PreparedStatement = {
  name: 'vault-protect',
  text: `WITH r AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(organization_id uuid, token uuid,
        fingerprint text, sealed text, key_id uuid, created_at timestamptz)
    ), made AS (
      INSERT INTO vault_cards
        (organization_id, token, fingerprint, sealed, key_id, created_at, used_at)
      SELECT r.organization_id, r.token, decode(r.fingerprint, 'hex'), decode(r.sealed, 'hex'),
        r.key_id, r.created_at, r.created_at
      FROM r JOIN vault_keys k ON k.organization_id = r.organization_id AND k.key_id = r.key_id
        AND k.wrapped IS NOT NULL AND k.state IN ('Active', 'Retiring')
      ON CONFLICT (organization_id, fingerprint) DO NOTHING
    )
    SELECT encode(c.fingerprint, 'hex') AS fingerprint, c.token, c.used_at
    FROM r JOIN vault_cards c ON c.organization_id = r.organization_id
      AND c.fingerprint = decode(r.fingerprint, 'hex')`,
};

export const selectCards: PreparedStatement = {
  name: 'vault-reveal',
  text: `SELECT r.i, c.sealed, c.used_at
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r(organization_id, token, i)
    JOIN vault_cards c ON c.organization_id = r.organization_id AND c.token = r.token`,
};

/** A card in daily use is updated once a week. */
export const markCardsUsed: PreparedStatement = {
  name: 'vault-use',
  text: `UPDATE vault_cards AS c SET used_at = r.used_at
    FROM jsonb_to_recordset($1::jsonb)
      AS r(organization_id uuid, token uuid, used_at timestamptz)
    WHERE c.organization_id = r.organization_id AND c.token = r.token
    RETURNING c.token`,
};

/** The facts of a card on which a round decides. */
export type CardState = {
  readonly token: string;
  readonly keyId: string | undefined;
  readonly usedAt: number;
};

export type EncryptedCard = { readonly token: string; readonly sealed: Buffer };

export function createCardStore(database: Database) {
  return {
    async listCardStates(
      organizationId: string,
      after: string,
      limit: number,
    ): Promise<CardState[]> {
      const rows = await database.query<{ token: string; key_id: string | null; used_at: Date }>(
        `SELECT token, key_id, used_at FROM vault_cards
        WHERE organization_id = $1 AND token > $2 ORDER BY token LIMIT $3`,
        [organizationId, after, limit],
      );
      return rows.map((row) => ({
        token: row.token,
        keyId: row.key_id ?? undefined,
        usedAt: row.used_at.getTime(),
      }));
    },
    async readEncrypted(
      organizationId: string,
      tokens: readonly string[],
    ): Promise<EncryptedCard[]> {
      return database.query<EncryptedCard>(
        `SELECT c.token, c.sealed FROM jsonb_to_recordset($2::jsonb) AS r(token uuid)
        JOIN vault_cards c ON c.organization_id = $1 AND c.token = r.token`,
        [organizationId, JSON.stringify(tokens.map((token) => ({ token })))],
      );
    },
    async exists(organizationId: string, token: string): Promise<boolean> {
      const text = 'SELECT 1 FROM vault_cards WHERE organization_id = $1 AND token = $2';
      return (await database.query(text, [organizationId, token])).length > 0;
    },
  };
}

/** Guarded by the old ciphertext, so that two rounds over one card do not undo each other. */
export async function replaceEncryptedCards(
  trx: Queries,
  organizationId: string,
  cards: readonly { token: string; sealed: Buffer; before: Buffer; keyId: string }[],
): Promise<number> {
  const rows = cards.map(({ token, sealed, before, keyId }) => ({
    token,
    key_id: keyId,
    sealed: sealed.toString('hex'),
    before: before.toString('hex'),
  }));
  const done = await trx.query(
    `UPDATE vault_cards AS c SET sealed = decode(r.sealed, 'hex'), key_id = r.key_id
      FROM jsonb_to_recordset($2::jsonb) AS r(token uuid, key_id uuid, sealed text, before text)
      WHERE c.organization_id = $1 AND c.token = r.token AND c.sealed = decode(r.before, 'hex')
      RETURNING c.token`,
    [organizationId, JSON.stringify(rows)],
  );
  return done.length;
}

/** Keeps cards that were used since the round read them. */
export async function deleteCards(
  trx: Queries,
  organizationId: string,
  tokens: readonly string[],
  unusedSince: string,
): Promise<number> {
  const done = await trx.query(
    `DELETE FROM vault_cards AS c USING jsonb_to_recordset($2::jsonb) AS r(token uuid)
      WHERE c.organization_id = $1 AND c.token = r.token AND c.used_at < $3 RETURNING c.token`,
    [organizationId, JSON.stringify(tokens.map((token) => ({ token }))), unusedSince],
  );
  return done.length;
}
