// Lets one process at a time change the schema: a row with an end, since not every engine has advisory locks.
import type { Database, SessionQuery } from '../database.ts';

const leaseName = 'migrate';
/** Three renewals may fail before the lease is lost. */
const renewalsPerLease = 4;

const acquireText = `INSERT INTO schema_lease (name, holder, held_until)
  VALUES ('${leaseName}', $1, clock_timestamp() + $2 * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE schema_lease.held_until < clock_timestamp()
  RETURNING holder`;
const renewText = `UPDATE schema_lease SET held_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE name = '${leaseName}' AND holder = $1 RETURNING holder`;
const releaseText = `DELETE FROM schema_lease WHERE name = '${leaseName}' AND holder = $1`;

export type MigrationLease = {
  /** Proves that the lease is still held and, inside a transaction, keeps it until the commit. */
  fence(): Promise<void>;
  release(): Promise<void>;
};

type LeaseRequest = { database: Database; query: SessionQuery; holder: string; leaseMs: number };

/** Undefined while another process holds it. Times are the database's, so clocks need not agree. */
export async function acquireMigrationLease({
  database,
  query,
  holder,
  leaseMs,
}: LeaseRequest): Promise<MigrationLease | undefined> {
  const acquired = await query(acquireText, [holder, leaseMs]);
  if (acquired.length === 0) return undefined;
  const timer = setInterval(() => {
    // On another connection: the one that migrates is busy. A failure shows at the fence.
    database.query(renewText, [holder, leaseMs]).catch(() => {});
  }, leaseMs / renewalsPerLease);
  return {
    async fence() {
      const renewed = await query(renewText, [holder, leaseMs]);
      if (renewed.length === 0) throw new Error('another process took over the migration');
    },
    async release() {
      clearInterval(timer);
      // Where the connection is gone the lease runs out by itself.
      await query(releaseText, [holder]).catch(() => {});
    },
  };
}
