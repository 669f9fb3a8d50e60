// One real PostgreSQL for a whole test run: started by the first test that asks, stopped when all are done.
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createLog,
  type Database,
  type EmbeddedPostgres,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIds,
} from '../../../src/platform/index.ts';
import { scanFolder, scanTables } from '../card-data/leak-scan.ts';
import {
  copyTemplate,
  ensureMigrated,
  migratedName,
  migrations,
  testSettings,
  urlOf,
} from './migrated-database-template.ts';

export { migrations } from './migrated-database-template.ts';

const directoryPrefix = 'switchyard-test-';
type Running = { database: Database; url: string; server: EmbeddedPostgres; dataDir: string };
/** On a busy machine a new connection takes its time, and others wait for one that is in use. */
const connectSeconds = 20;

let running: Promise<Running> | undefined;
let serverPid: number | undefined;
let stopped: Promise<void> | undefined;

/** Migrated and shared: each test uses organisations of its own, and nothing is emptied between tests. */
export async function testDatabase(): Promise<Database> {
  running ??= start();
  return (await running).database;
}

/** The address of the same server, for tests that open or lose connections of their own. */
export async function testDatabaseUrl(): Promise<string> {
  running ??= start();
  return (await running).url;
}

/** The address of an empty schema on the same server, for tests of what makes the tables. */
export async function testSchemaUrl(): Promise<string> {
  const schema = `test_${randomUUID().replaceAll('-', '')}`;
  await (await testDatabase()).query(`CREATE SCHEMA ${schema}`);
  return `${await testDatabaseUrl()}&options=-c%20search_path%3D${schema}`;
}

let template: Promise<void> | undefined;
const copies: string[] = [];

/** The address of a database of its own on the same server, with all tables, for tests that a running house would disturb. */
export async function testCopyUrl(): Promise<string> {
  const url = await testDatabaseUrl();
  template ??= ensureMigrated(url);
  await template;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // As files: through the log each copy would stand in it, too.
  const made = `CREATE DATABASE ${name} TEMPLATE ${migratedName} STRATEGY file_copy`;
  await (await testDatabase()).query(made);
  copies.push(urlOf(url, name));
  return urlOf(url, name);
}

/**
 * After every hook of every file, whatever their order: what they close may still need the database. Neither
 * its connections nor its server keep the process alive, so this comes as soon as nothing else does.
 */
process.once('beforeExit', () => void stop());
/** A run that is cut short cannot wait; the next run removes what lies there. */
process.once('exit', () => {
  if (serverPid === undefined || stopped !== undefined) return;
  try {
    process.kill(serverPid, 'SIGINT');
  } catch {
    // It died before us.
  }
});

async function start(): Promise<Running> {
  await removeAbandoned();
  const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });
  const dataDir = await mkdtemp(join(tmpdir(), directoryPrefix));
  await copyTemplate(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, log, settings: testSettings });
  serverPid = server.pid();
  const url = `${server.url}&connect_timeout=${connectSeconds}`;
  const database = openDatabase({ url, log });
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIds });
  return { database, url, server, dataDir };
}

function stop(): Promise<void> {
  stopped ??= finish();
  return stopped;
}

async function finish(): Promise<void> {
  if (running === undefined) return;
  const { database, server, dataDir } = await running;
  await scanTables(database);
  await database.close();
  const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });
  for (const url of copies) {
    const copy = openDatabase({ url, log, connections: 1 });
    await scanTables(copy);
    await copy.close();
  }
  await server.stop();
  scanFolder(dataDir);
  await rm(dataDir, { recursive: true, force: true });
}

/** Runs that were killed leave a server behind: adopting and stopping it is what the launcher can do. */
async function removeAbandoned(): Promise<void> {
  const log = createLog({ logLevel: 'silent', instanceName: 'test-database' });
  for (const name of await readdir(tmpdir())) {
    const dataDir = join(tmpdir(), name);
    if (!name.startsWith(directoryPrefix) || !(await isAbandoned(dataDir))) continue;
    try {
      await (await startEmbeddedPostgres({ dataDir, log, settings: testSettings })).stop();
      await rm(dataDir, { recursive: true, force: true });
    } catch {
      // Somebody else's, or half removed: the next run looks again.
    }
  }
}

async function isAbandoned(dataDir: string): Promise<boolean> {
  const owner = await readFile(join(dataDir, 'owner'), 'utf8').catch(() => '');
  const pid = Number(owner.split(' ')[0]);
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
