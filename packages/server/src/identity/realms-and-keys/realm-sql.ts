// The SQL of user domains and signing keys.
import { type Database, isoTime, type Queries, toRecords } from '../../platform/index.ts';
import type { SealedKey, UserDomain } from './realm-types.ts';

/** Rotation adds two keys at a time, so this limit covers years. */
const maxListedKeys = 32;

export type KeyReplacement = {
  readonly keys: readonly SealedKey[];
  /** Epoch milliseconds, like all times here. */
  readonly now: number;
  readonly retireOthersAt: number;
  readonly unlessActiveAfter: number | undefined;
  /** Runs as the last statement of the same transaction. */
  readonly recordChange: (trx: Queries) => Promise<void>;
};

export type RealmStore = ReturnType<typeof createRealmStore>;

export function createRealmStore(database: Database) {
  const insertKeys = async (
    trx: Queries,
    organizationId: string,
    keys: readonly SealedKey[],
    now: number,
  ): Promise<void> => {
    for (const key of keys) {
      await trx.query(
        `INSERT INTO realm_keys
          (organization_id, key_id, algorithm, private_sealed, created_at, active_from)
        VALUES ($1, $2, $3, $4, $5, $6)`,
        [
          organizationId,
          key.keyId,
          key.algorithm,
          key.privateSealed,
          isoTime(now),
          isoTime(key.activeFrom),
        ],
      );
    }
  };

  return {
    /** In a transaction it uses that connection: waiting for a second one could deadlock. */
    async findDomain(
      userDomainId: string,
      queries: Queries = database,
    ): Promise<UserDomain | undefined> {
      const text =
        'SELECT user_domain_id, organization_id, status FROM user_domains WHERE user_domain_id = $1';
      return toRecords<UserDomain>(await queries.query(text, [userDomainId]))[0];
    },

    async findDomainOfOrganization(
      organizationId: string,
      queries: Queries = database,
    ): Promise<string | undefined> {
      const text = 'SELECT user_domain_id AS id FROM user_domains WHERE organization_id = $1';
      const [domain] = await queries.query<{ id: string }>(text, [organizationId]);
      return domain?.id;
    },

    /** By organisation; organisations without a user domain are missing. */
    async findDomainsOfOrganizations(
      organizationIds: readonly string[],
    ): Promise<ReadonlyMap<string, string>> {
      const rows = await database.query(
        'SELECT organization_id, user_domain_id FROM user_domains WHERE organization_id = ANY($1)',
        [organizationIds],
      );
      return new Map(
        toRecords<UserDomain>(rows).map((domain) => [domain.organizationId, domain.userDomainId]),
      );
    },

    /** False, and nothing written, if the name or the organisation already has a domain. */
    async insertDomain(
      domain: UserDomain,
      keys: readonly SealedKey[],
      now: number,
      outerTransaction?: Queries,
    ): Promise<boolean> {
      const insert = async (trx: Queries): Promise<boolean> => {
        const inserted = await trx.query(
          `INSERT INTO user_domains (user_domain_id, organization_id, status, created_at)
          VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING user_domain_id`,
          [domain.userDomainId, domain.organizationId, domain.status, isoTime(now)],
        );
        if (inserted.length === 0) return false;
        await insertKeys(trx, domain.organizationId, keys, now);
        return true;
      };
      return outerTransaction === undefined
        ? database.transaction(insert)
        : insert(outerTransaction);
    },

    /** Returns the name of the closed user domain, if there was one. */
    async closeDomain(organizationId: string, trx: Queries): Promise<string | undefined> {
      const closed = await trx.query<{ id: string }>(
        `UPDATE user_domains SET status = 'Disabled'
        WHERE organization_id = $1 RETURNING user_domain_id AS id`,
        [organizationId],
      );
      return closed[0]?.id;
    },

    async listKeys(organizationId: string, now: number): Promise<SealedKey[]> {
      const rows = await database.query(
        `SELECT key_id, algorithm, private_sealed, active_from, retire_at FROM realm_keys
         WHERE organization_id = $1 AND (retire_at IS NULL OR retire_at > $2)
         ORDER BY active_from DESC, key_id LIMIT ${maxListedKeys}`,
        [organizationId, isoTime(now)],
      );
      return toRecords(rows);
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
        await trx.query('SELECT 1 FROM user_domains WHERE organization_id = $1 FOR UPDATE', [
          organizationId,
        ]);
        if (unlessActiveAfter !== undefined) {
          const newer = await trx.query(
            'SELECT 1 FROM realm_keys WHERE organization_id = $1 AND active_from > $2 LIMIT 1',
            [organizationId, isoTime(unlessActiveAfter)],
          );
          if (newer.length > 0) return false;
        }
        await trx.query(
          `UPDATE realm_keys SET retire_at = $1 WHERE organization_id = $2
          AND (retire_at IS NULL OR retire_at > $1)`,
          [end, organizationId],
        );
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
