// Lease that lets one process at a time migrate: a row with an expiry, because not every database has advisory locks.
import type { Database, Queries } from '../database.ts';

const leaseName = 'migrate';
/** The lease is lost after three failed renewals. */
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
  /** Checks that this process still holds the lease. Inside a transaction, keeps it until the commit. */
  fence(): Promise<void>;
  release(): Promise<void>;
};

type LeaseRequest = { database: Database; queries: Queries; holder: string; leaseMs: number };

/** Undefined while another process holds the lease. Times are those of the database. */
export async function acquireMigrationLease({
  database,
  queries,
  holder,
  leaseMs,
}: LeaseRequest): Promise<MigrationLease | undefined> {
  const acquired = await queries.query(acquireText, [holder, leaseMs]);
  if (acquired.length === 0) return undefined;
  const timer = setInterval(() => {
    // On another connection, because the migrating one is busy. `fence` notices a failure.
    database.query(renewText, [holder, leaseMs]).catch(() => {});
  }, leaseMs / renewalsPerLease);
  return {
    async fence() {
      const renewed = await queries.query(renewText, [holder, leaseMs]);
      if (renewed.length === 0) throw new Error('another process took over the migration');
    },
    async release() {
      clearInterval(timer);
      // If the connection is lost, the lease expires.
      await queries.query(releaseText, [holder]).catch(() => {});
    },
  };
}
