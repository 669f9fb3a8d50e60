// Stores the wrapped keys of the vault and changes their states by SQL.
import { type Database, isoTime, type Queries, toRecords } from '../platform/index.ts';
import type { KeyIdentity } from './key-providers/open-key-provider.ts';

/** The owner of the index key and of the upkeep job, which belong to no organisation. */
export const platformOwnerId = '00000000-0000-0000-0000-000000000000';

export type KeyState = 'Active' | 'Retiring' | 'Retired' | 'Destroyed';

export type VaultKey = KeyIdentity & {
  readonly state: KeyState;
  readonly wrappedBy: string;
  /** Undefined after the key is destroyed. */
  readonly wrapped?: Buffer | undefined;
  readonly checkValue: string;
  readonly createdAt: number;
  readonly changedAt: number;
};

const columns = `organization_id, key_id, purpose, state, wrapped_by, wrapped, check_value, created_at,
  changed_at`;

export type VaultKeyStore = ReturnType<typeof createVaultKeyStore>;

export function createVaultKeyStore(database: Database) {
  const select = async (where: string, values: readonly unknown[]): Promise<VaultKey[]> =>
    toRecords(await database.query(`SELECT ${columns} FROM vault_keys WHERE ${where}`, values));

  return {
    async find(organizationId: string, keyId: string): Promise<VaultKey | undefined> {
      const [key] = await select('organization_id = $1 AND key_id = $2', [organizationId, keyId]);
      return key;
    },
    async findActive(
      organizationId: string,
      purpose: VaultKey['purpose'],
    ): Promise<VaultKey | undefined> {
      const [key] = await select("organization_id = $1 AND purpose = $2 AND state = 'Active'", [
        organizationId,
        purpose,
      ]);
      return key;
    },
    list: (organizationId: string): Promise<VaultKey[]> =>
      select('organization_id = $1 ORDER BY created_at DESC', [organizationId]),
    /** Keeps an existing active key that another process has added. */
    async add(key: VaultKey): Promise<void> {
      await database.query(
        `INSERT INTO vault_keys (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT DO NOTHING`,
        [
          key.organizationId,
          key.keyId,
          key.purpose,
          key.state,
          key.wrappedBy,
          key.wrapped,
          key.checkValue,
          isoTime(key.createdAt),
          isoTime(key.changedAt),
        ],
      );
    },
    /**
     * Stores the same key under another wrapping. Returns false if another process has wrapped it
     * since.
     */
    async rewrap(key: VaultKey, to: { wrapped: Buffer; wrappedBy: string }): Promise<boolean> {
      const rows = await database.query(
        `UPDATE vault_keys SET wrapped = $3, wrapped_by = $4
        WHERE organization_id = $1 AND key_id = $2 AND wrapped_by = $5 AND wrapped IS NOT NULL
        RETURNING key_id`,
        [key.organizationId, key.keyId, to.wrapped, to.wrappedBy, key.wrappedBy],
      );
      return rows.length === 1;
    },
    /**
     * Retires active keys from before a time; the next card of each organisation creates a new key.
     */
    async retireKeysCreatedBefore(madeBefore: number, at: number): Promise<string[]> {
      const rows = await database.query<{ id: string }>(
        `UPDATE vault_keys SET state = 'Retiring', changed_at = $2
        WHERE purpose = 'Data' AND state = 'Active' AND created_at < $1 RETURNING organization_id AS id`,
        [isoTime(madeBefore), isoTime(at)],
      );
      return rows.map(({ id }) => id);
    },
    /** Organisations with keys, or with cards from the time before keys. */
    async listOrganizations(after: string, limit: number): Promise<string[]> {
      const rows = await database.query<{ id: string }>(
        `SELECT organization_id AS id FROM vault_keys
          WHERE organization_id > $1 AND purpose = 'Data' AND state <> 'Destroyed'
        UNION SELECT organization_id FROM vault_cards WHERE key_id IS NULL AND organization_id > $1
        ORDER BY id LIMIT $2`,
        [after, limit],
      );
      return rows.map(({ id }) => id);
    },
    async hasLegacyCards(): Promise<boolean> {
      const rows = await database.query('SELECT 1 FROM vault_cards WHERE key_id IS NULL LIMIT 1');
      return rows.length > 0;
    },
  };
}

/** Runs in the caller's transaction. Returns false if the state of the key has changed. */
export async function changeKeyState(
  trx: Queries,
  key: Pick<VaultKey, 'organizationId' | 'keyId' | 'state'>,
  to: KeyState,
  at: number,
): Promise<boolean> {
  // A destroyed key keeps no wrapped bytes.
  const rows = await trx.query(
    `UPDATE vault_keys SET state = $4, changed_at = $5,
        wrapped = CASE WHEN $4 = 'Destroyed' THEN NULL ELSE wrapped END
      WHERE organization_id = $1 AND key_id = $2 AND state = $3 RETURNING key_id`,
    [key.organizationId, key.keyId, key.state, to, isoTime(at)],
  );
  return rows.length === 1;
}
