// A migrated, stopped database that stays for later runs; tests that need their own server start
// from a copy.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  createLog,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIdGenerator,
} from '../../../src/platform/index.ts';

const runFile = promisify(execFile);
const templatePrefix = 'test-database-';
export const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));
/**
 * The sizes suit a test. The server does not wait for the disk, because tests kill only processes:
 * the kernel keeps what a killed process wrote.
 */
export const testPostgresSettings = {
  shared_buffers: '64MB',
  max_wal_size: '512MB',
  max_connections: '100',
  fsync: 'off',
  full_page_writes: 'off',
  // Autovacuum visits each database in turn, and the cluster contains dozens of copies.
  autovacuum_naptime: '60s',
};

/**
 * Passes the directory to the test processes; a single file that Node runs directly has no
 * template.
 */
export const templateFolderVariable = 'TEST_DATABASE_TEMPLATE';

/** An unused database in the cluster; the other databases are copies of it. */
export const templateDatabaseName = 'switchyard_migrated';

const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });

/** The URL of another database on the same server. */
export function withDatabaseName(url: string, database: string): string {
  return url.replace(/^(postgresql:\/\/[^/]*\/)\w+/, `$1${database}`);
}

async function migrateDatabase(url: string): Promise<void> {
  const database = openDatabase({ url, log });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  await database.close();
}

/** Creates the template database if the cluster has none. */
export async function ensureTemplateDatabase(url: string): Promise<void> {
  const database = openDatabase({ url: withDatabaseName(url, 'template1'), log, connections: 1 });
  try {
    const existing = await database.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      templateDatabaseName,
    ]);
    if (existing.length > 0) return;
    await database.query(`CREATE DATABASE ${templateDatabaseName} TEMPLATE template0`);
    await migrateDatabase(withDatabaseName(url, templateDatabaseName));
    // An open connection to the template would block the copy.
    await database.query(`ALTER DATABASE ${templateDatabaseName} ALLOW_CONNECTIONS false`);
  } finally {
    await database.close();
  }
}

/** Everything on which the content of the template depends. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(testPostgresSettings));
  // The version of PostgreSQL is that of its package.
  const lock = join(migrationsFolder, '../../../package-lock.json');
  const migrations = (await readdir(migrationsFolder))
    .sort()
    .map((name) => join(migrationsFolder, name));
  for (const file of [lock, ...migrations]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

/**
 * A stopped cluster with all migrations, from an earlier run or new.
 *
 * @param cacheFolder where it stays for the next run
 */
export async function findTemplateCluster(cacheFolder: string): Promise<string> {
  const cluster = join(cacheFolder, `${templatePrefix}${await fingerprint()}`);
  if ((await stat(cluster).catch(() => undefined)) !== undefined) return cluster;
  // PostgreSQL runs under an account that may not enter the folder of the repository.
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-template-'));
  try {
    const server = await startEmbeddedPostgres({ dataDir, log, settings: testPostgresSettings });
    try {
      await migrateDatabase(server.url);
      await ensureTemplateDatabase(server.url);
    } finally {
      await server.stop();
    }
    await mkdir(cacheFolder, { recursive: true });
    const earlier = (await readdir(cacheFolder)).filter((name) => name.startsWith(templatePrefix));
    for (const name of earlier) await rm(join(cacheFolder, name), { recursive: true, force: true });
    const draft = `${cluster}.${process.pid}`;
    await runFile('cp', ['-a', dataDir, draft]);
    await replace(draft, cluster);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  return cluster;
}

/** If two processes make the same, only the first rename succeeds. */
async function replace(draft: string, target: string): Promise<void> {
  await rename(draft, target).catch(async (error: unknown) => {
    if ((await stat(target).catch(() => undefined)) === undefined) throw error;
  });
  await rm(draft, { recursive: true, force: true });
}

/**
 * Copies the template below the directory; the server then starts from a used cluster. Does nothing
 * without a template.
 */
export async function copyTemplateCluster(dataDir: string): Promise<void> {
  const template = process.env[templateFolderVariable];
  if (template === undefined) return;
  const cluster = join(dataDir, 'data');
  if ((await stat(cluster).catch(() => undefined)) !== undefined) return;
  // The same mode as the server's data directory: the database account needs to traverse it.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const draft = await mkdtemp(join(dataDir, 'copy-'));
  // The copy keeps owners and modes, because PostgreSQL checks them.
  await runFile('cp', ['-a', join(template, 'data'), draft]);
  await replace(join(draft, 'data'), cluster);
  await rm(draft, { recursive: true, force: true });
}
