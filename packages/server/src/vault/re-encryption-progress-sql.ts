// Stores the progress and the counts of a round, so that another process can continue it.
import { type Database, isoTime, type Queries } from '../platform/index.ts';
import { platformOwnerId } from './vault-key-sql.ts';

export type ReEncryptionCounts = {
  /**
   * The number of cards under an old key, by key; `none` is for cards from the time before keys.
   */
  readonly found: Record<string, number>;
  resealed: number;
  deleted: number;
  /** Cards that no key decrypts; they stay unchanged, and so does their key. */
  broken: number;
};

export type ReEncryptionProgress = {
  readonly startedAt: number;
  lastToken: string;
  counts: ReEncryptionCounts;
};

type Row = { started_at: Date; walked_to: string | null; tally: ReEncryptionCounts };

export function createReEncryptionProgressStore(database: Database) {
  return {
    /** Returns the interrupted round, or starts a new one. */
    async startOrResume(organizationId: string, at: number): Promise<ReEncryptionProgress> {
      const counts: ReEncryptionCounts = { found: {}, resealed: 0, deleted: 0, broken: 0 };
      await database.query(
        `INSERT INTO vault_rounds (organization_id, started_at, tally) VALUES ($1, $2, $3)
        ON CONFLICT (organization_id) DO NOTHING`,
        [organizationId, isoTime(at), JSON.stringify(counts)],
      );
      const [row] = await database.query<Row>(
        'SELECT started_at, walked_to, tally FROM vault_rounds WHERE organization_id = $1',
        [organizationId],
      );
      if (row === undefined) return { startedAt: at, lastToken: platformOwnerId, counts };
      return {
        startedAt: row.started_at.getTime(),
        lastToken: row.walked_to ?? platformOwnerId,
        counts: row.tally,
      };
    },
    async save(
      trx: Queries,
      organizationId: string,
      progress: ReEncryptionProgress,
    ): Promise<void> {
      await trx.query(
        'UPDATE vault_rounds SET walked_to = $2, tally = $3 WHERE organization_id = $1',
        [organizationId, progress.lastToken, JSON.stringify(progress.counts)],
      );
    },
    async end(trx: Queries, organizationId: string): Promise<void> {
      await trx.query('DELETE FROM vault_rounds WHERE organization_id = $1', [organizationId]);
    },
  };
}
