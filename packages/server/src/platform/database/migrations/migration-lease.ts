// Lets one process at a time change the schema: a row with an end, since not every engine has advisory locks.
import type { Database, SessionQuery } from '../database.ts';

const leaseName = 'migrate';
/** Three renewals may fail before the lease is lost. */
const renewalsPerLease = 4;

const take = `INSERT INTO schema_lease (name, holder, held_until)
  VALUES ('${leaseName}', $1, clock_timestamp() + $2 * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE schema_lease.held_until < clock_timestamp()
  RETURNING holder`;
const renew = `UPDATE schema_lease SET held_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE name = '${leaseName}' AND holder = $1 RETURNING holder`;
const give = `DELETE FROM schema_lease WHERE name = '${leaseName}' AND holder = $1`;

export type Lease = {
  /** Proves that the lease is still held and, inside a transaction, keeps it until the commit. */
  fence(): Promise<void>;
  release(): Promise<void>;
};

type Held = { database: Database; query: SessionQuery; holder: string; leaseMs: number };

/** Undefined while another process holds it. Times are the database's, so clocks need not agree. */
export async function holdLease({
  database,
  query,
  holder,
  leaseMs,
}: Held): Promise<Lease | undefined> {
  const taken = await query(take, [holder, leaseMs]);
  if (taken.length === 0) return undefined;
  const timer = setInterval(() => {
    // On another connection: the one that migrates is busy. A failure shows at the fence.
    database.query(renew, [holder, leaseMs]).catch(() => {});
  }, leaseMs / renewalsPerLease);
  return {
    async fence() {
      const renewed = await query(renew, [holder, leaseMs]);
      if (renewed.length === 0) throw new Error('another process took over the migration');
    },
    async release() {
      clearInterval(timer);
      // Where the connection is gone the lease runs out by itself.
      await query(give, [holder]).catch(() => {});
    },
  };
}
