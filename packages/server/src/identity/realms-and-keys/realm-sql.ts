// The SQL of user domains and signing keys.
import { CompiledQuery, type Kysely, sql } from 'kysely';
import { type Database, isoTime } from '../../platform/index.ts';
import type { SealedKey, SigningAlgorithm, Status, UserDomain } from './realm-types.ts';

/** Rotation adds two keys at a time, so this limit covers years. */
const maxListedKeys = 32;

export type KeyReplacement = {
  readonly keys: readonly SealedKey[];
  /** Epoch milliseconds, like all times here. */
  readonly now: number;
  readonly retireOthersAt: number;
  readonly unlessActiveAfter: number | undefined;
  /** Runs as the last statement of the same transaction. */
  readonly recordChange: (trx: Kysely<unknown>) => Promise<void>;
};

export type RealmStore = ReturnType<typeof createRealmStore>;

type DomainRow = { user_domain_id: string; organization_id: string; status: Status };
type KeyRow = {
  key_id: string;
  algorithm: SigningAlgorithm;
  private_sealed: Buffer;
  active_from: Date;
  retire_at: Date | null;
};
function domainFromRow(row: DomainRow): UserDomain {
  return {
    userDomainId: row.user_domain_id,
    organizationId: row.organization_id,
    status: row.status,
  };
}

function keyFromRow(row: KeyRow): SealedKey {
  return {
    keyId: row.key_id,
    algorithm: row.algorithm,
    privateSealed: row.private_sealed,
    activeFrom: row.active_from.getTime(),
    ...(row.retire_at === null ? {} : { retireAt: row.retire_at.getTime() }),
  };
}

export function createRealmStore(database: Database) {
  /** Uses the connection of the transaction: waiting for a second one could deadlock. */
  async function queryRows<Row extends object>(
    text: string,
    values: readonly unknown[],
    trx: Kysely<unknown> | undefined,
  ): Promise<Row[]> {
    if (trx === undefined) return database.query<Row>(text, values);
    return (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
  }

  const insertKeys = async (
    trx: Kysely<unknown>,
    organizationId: string,
    keys: readonly SealedKey[],
    now: number,
  ): Promise<void> => {
    for (const key of keys) {
      await sql`INSERT INTO realm_keys
          (organization_id, key_id, algorithm, private_sealed, created_at, active_from)
        VALUES (${organizationId}, ${key.keyId}, ${key.algorithm}, ${key.privateSealed},
          ${isoTime(now)}, ${isoTime(key.activeFrom)})`.execute(trx);
    }
  };

  return {
    async findDomain(userDomainId: string, trx?: Kysely<unknown>): Promise<UserDomain | undefined> {
      const text =
        'SELECT user_domain_id, organization_id, status FROM user_domains WHERE user_domain_id = $1';
      const [row] = await queryRows<DomainRow>(text, [userDomainId], trx);
      return row === undefined ? undefined : domainFromRow(row);
    },

    async findDomainOfOrganization(
      organizationId: string,
      trx?: Kysely<unknown>,
    ): Promise<string | undefined> {
      const text = 'SELECT user_domain_id FROM user_domains WHERE organization_id = $1';
      const [row] = await queryRows<DomainRow>(text, [organizationId], trx);
      return row?.user_domain_id;
    },

    /** By organisation; organisations without a user domain are missing. */
    async findDomainsOfOrganizations(
      organizationIds: readonly string[],
    ): Promise<ReadonlyMap<string, string>> {
      const rows = await database.query<DomainRow>(
        'SELECT organization_id, user_domain_id FROM user_domains WHERE organization_id = ANY($1)',
        [organizationIds],
      );
      return new Map(rows.map((row) => [row.organization_id, row.user_domain_id]));
    },

    /** False, and nothing written, if the name or the organisation already has a domain. */
    async insertDomain(
      domain: UserDomain,
      keys: readonly SealedKey[],
      now: number,
      outerTransaction?: Kysely<unknown>,
    ): Promise<boolean> {
      const insert = async (trx: Kysely<unknown>): Promise<boolean> => {
        const inserted = await sql`INSERT INTO user_domains
            (user_domain_id, organization_id, status, created_at)
          VALUES (${domain.userDomainId}, ${domain.organizationId}, ${domain.status}, ${isoTime(now)})
          ON CONFLICT DO NOTHING RETURNING user_domain_id`.execute(trx);
        if (inserted.rows.length === 0) return false;
        await insertKeys(trx, domain.organizationId, keys, now);
        return true;
      };
      return outerTransaction === undefined
        ? database.transaction(insert)
        : insert(outerTransaction);
    },

    /** Returns the name of the closed user domain, if there was one. */
    async closeDomain(organizationId: string, trx: Kysely<unknown>): Promise<string | undefined> {
      const closed = await sql<DomainRow>`UPDATE user_domains SET status = 'Disabled'
        WHERE organization_id = ${organizationId} RETURNING user_domain_id`.execute(trx);
      return closed.rows[0]?.user_domain_id;
    },

    async listKeys(organizationId: string, now: number): Promise<SealedKey[]> {
      const rows = await database.query<KeyRow>(
        `SELECT key_id, algorithm, private_sealed, active_from, retire_at FROM realm_keys
         WHERE organization_id = $1 AND (retire_at IS NULL OR retire_at > $2)
         ORDER BY active_from DESC, key_id LIMIT ${maxListedKeys}`,
        [organizationId, isoTime(now)],
      );
      return rows.map(keyFromRow);
    },

    /**
     * Inserts the new keys and retires all others at `retireOthersAt`, in one transaction. False if
     * a key starts after `unlessActiveAfter`: another process has rotated already.
     */
    async replaceKeys(organizationId: string, replacement: KeyReplacement): Promise<boolean> {
      const { keys, now, retireOthersAt, unlessActiveAfter } = replacement;
      const end = isoTime(retireOthersAt);
      return database.transaction(async (trx) => {
        // The lock serialises concurrent rotations.
        await sql`SELECT 1 FROM user_domains WHERE organization_id = ${organizationId} FOR UPDATE`.execute(
          trx,
        );
        if (unlessActiveAfter !== undefined) {
          const newer = await sql`SELECT 1 FROM realm_keys WHERE organization_id = ${organizationId}
            AND active_from > ${isoTime(unlessActiveAfter)} LIMIT 1`.execute(trx);
          if (newer.rows.length > 0) return false;
        }
        await sql`UPDATE realm_keys SET retire_at = ${end} WHERE organization_id = ${organizationId}
          AND (retire_at IS NULL OR retire_at > ${end})`.execute(trx);
        await insertKeys(trx, organizationId, keys, now);
        await replacement.recordChange(trx);
        return true;
      });
    },

    /** Returns how many keys it deleted that had retired before `endedBefore`. */
    async deleteKeys(organizationId: string, endedBefore: number): Promise<number> {
      const deleted = await database.query(
        'DELETE FROM realm_keys WHERE organization_id = $1 AND retire_at < $2 RETURNING key_id',
        [organizationId, isoTime(endedBefore)],
      );
      return deleted.length;
    },
  };
}
