// A migrated database of the whole run, at rest: whoever needs a server of its own begins with a copy of it.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  createLog,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIds,
} from '../../../src/platform/index.ts';

const run = promisify(execFile);
export const migrations = fileURLToPath(new URL('../../../migrations', import.meta.url));
/**
 * The size fits a test. Nothing waits for the disk: what tests kill are processes, and what a killed
 * one has written lives on in the kernel.
 */
export const testSettings = {
  shared_buffers: '64MB',
  max_wal_size: '512MB',
  max_connections: '100',
  fsync: 'off',
  full_page_writes: 'off',
  // Each database has a round of its own, and there are dozens of copies.
  autovacuum_naptime: '60s',
};

/** Names the directory to the test processes; a run of one file by node itself has none. */
export const templateVariable = 'TEST_DATABASE_TEMPLATE';

/** A database within the cluster that nobody uses: others are made as its copies. */
export const migratedName = 'switchyard_migrated';

const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });

/** The same server, another database. */
export function urlOf(url: string, database: string): string {
  return url.replace(/^(postgresql:\/\/[^/]*\/)\w+/, `$1${database}`);
}

async function migrated(url: string): Promise<void> {
  const database = openDatabase({ url, log });
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIds });
  await database.close();
}

/** Makes the database to be copied, where the cluster has none. */
export async function ensureMigrated(url: string): Promise<void> {
  const database = openDatabase({ url: urlOf(url, 'template1'), log, connections: 1 });
  try {
    const found = await database.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      migratedName,
    ]);
    if (found.length > 0) return;
    await database.query(`CREATE DATABASE ${migratedName} TEMPLATE template0`);
    await migrated(urlOf(url, migratedName));
    // Who is connected to it would hold up those who copy it.
    await database.query(`ALTER DATABASE ${migratedName} ALLOW_CONNECTIONS false`);
  } finally {
    await database.close();
  }
}

/** Makes a cluster with all migrations, and leaves it stopped. */
export async function makeTemplate(dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, log, settings: testSettings });
  try {
    await migrated(server.url);
    await ensureMigrated(server.url);
  } finally {
    await server.stop();
  }
}

/** Puts a copy below the directory, which then starts as one that was used before; does nothing without a template. */
export async function copyTemplate(dataDir: string): Promise<void> {
  const template = process.env[templateVariable];
  if (template === undefined) return;
  const cluster = join(dataDir, 'data');
  if ((await stat(cluster).catch(() => undefined)) !== undefined) return;
  // As the server's home is made: its account passes through.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const draft = await mkdtemp(join(dataDir, 'copy-'));
  // With owners and modes, without which PostgreSQL takes no directory.
  await run('cp', ['-a', join(template, 'data'), draft]);
  // Of two processes that begin on one directory, one is first.
  await rename(join(draft, 'data'), cluster).catch(async (error: unknown) => {
    if ((await stat(cluster).catch(() => undefined)) === undefined) throw error;
  });
  await rm(draft, { recursive: true, force: true });
}
