// Asks which engine answers: PostgreSQL itself, or another that speaks its protocol.
import type { SessionQuery } from './database.ts';

/** YugabyteDB says "PostgreSQL 15.2-YB-2.25…", CockroachDB "CockroachDB CCL v25…". */
export async function isPostgres(query: SessionQuery): Promise<boolean> {
  const [row] = await query('SELECT version() AS version');
  const version = String(row?.['version']);
  return version.startsWith('PostgreSQL') && !/-YB-|yugabyte|cockroach/i.test(version);
}
