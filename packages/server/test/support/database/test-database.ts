// One real PostgreSQL for a whole test run: the first test starts it, the end of the run stops it.
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
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { scanFolder, scanTables } from '../card-data/leak-scan.ts';
import { type CitusNodes, citusNodesOfTests, createCitusDatabase } from './citus-nodes.ts';
import {
  copyTemplateCluster,
  ensureTemplateDatabase,
  migrationsFolder,
  templateDatabaseName,
  testPostgresSettings,
  withDatabaseName,
} from './migrated-database-template.ts';

export { migrationsFolder } from './migrated-database-template.ts';

const directoryPrefix = 'switchyard-test-';
type RunningDatabase = {
  database: Database;
  url: string;
  server: EmbeddedPostgres;
  dataDir: string;
};
/** On a busy machine a new connection is slow, and callers wait for a free connection. */
const connectSeconds = 20;

let running: Promise<RunningDatabase> | undefined;
let serverPid: number | undefined;
let stopped: Promise<void> | undefined;

/**
 * The migrated, shared database: each test uses its own organisations, and nothing is deleted
 * between tests.
 */
export async function testDatabase(): Promise<Database> {
  running ??= start();
  return (await running).database;
}

/** The URL of the same server, for tests that open or lose their own connections. */
export async function testDatabaseUrl(): Promise<string> {
  running ??= start();
  return (await running).url;
}

/** The URL of an empty schema on the same server, for tests of the migrations. */
export async function testSchemaUrl(): Promise<string> {
  const schema = `test_${randomUUID().replaceAll('-', '')}`;
  await (await testDatabase()).query(`CREATE SCHEMA ${schema}`);
  return `${await testDatabaseUrl()}&options=-c%20search_path%3D${schema}`;
}

async function openMigratedDatabase(url: string): Promise<Database> {
  const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });
  const database = openDatabase({ url, log });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  return database;
}

async function createCitusCopy(nodes: CitusNodes): Promise<string> {
  const url = await createCitusDatabase(nodes);
  const database = await openMigratedDatabase(url);
  await database.close();
  copies.push(url);
  return url;
}

let template: Promise<void> | undefined;
const copies: string[] = [];

/** The URL of a migrated database of its own, for tests that a running platform would disturb. */
export async function testDatabaseCopyUrl(): Promise<string> {
  const nodes = citusNodesOfTests();
  if (nodes !== undefined) return createCitusCopy(nodes);
  const url = await testDatabaseUrl();
  template ??= ensureTemplateDatabase(url);
  await template;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // File copies keep the data out of the write-ahead log.
  const createStatement = `CREATE DATABASE ${name} TEMPLATE ${templateDatabaseName} STRATEGY file_copy`;
  await (await testDatabase()).query(createStatement);
  copies.push(withDatabaseName(url, name));
  return withDatabaseName(url, name);
}

/** A migrated database for rows that a test makes up; it is dropped and not searched for card data. */
export async function openScratchDatabase(): Promise<{
  scratch: Database;
  drop(): Promise<void>;
}> {
  const url = await testDatabaseCopyUrl();
  const scratch = openDatabase({
    url,
    log: createLog({ logLevel: 'warn', instanceName: 'scratch' }),
  });
  return {
    scratch,
    async drop() {
      await scratch.close();
      copies.splice(copies.indexOf(url), 1);
      const name = new URL(url).pathname.slice(1);
      await (await testDatabase()).query(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/**
 * `beforeExit` runs after every hook of every file, because the hooks may still need the database.
 * Neither the connections nor the server keep the process alive.
 */
process.once('beforeExit', () => void stop());
/** An interrupted run cannot wait; the next run removes its directory. */
process.once('exit', () => {
  if (serverPid === undefined || stopped !== undefined) return;
  try {
    process.kill(serverPid, 'SIGINT');
  } catch {
    // The server ended before this process.
  }
});

/** The database of a running Citus: the drill started its nodes and stops them. */
async function startOnCitus(nodes: CitusNodes): Promise<RunningDatabase> {
  const url = await createCitusDatabase(nodes);
  const database = await openMigratedDatabase(url);
  const dataDir = await mkdtemp(join(tmpdir(), directoryPrefix));
  return { database, url, server: { url, pid: () => 0, stop: async () => {} }, dataDir };
}

async function start(): Promise<RunningDatabase> {
  const nodes = citusNodesOfTests();
  if (nodes !== undefined) return startOnCitus(nodes);
  await removeAbandoned();
  const log = createLog({ logLevel: 'warn', instanceName: 'test-database' });
  const dataDir = await mkdtemp(join(tmpdir(), directoryPrefix));
  await copyTemplateCluster(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, log, settings: testPostgresSettings });
  serverPid = server.pid();
  const url = `${server.url}&connect_timeout=${connectSeconds}`;
  return { database: await openMigratedDatabase(url), url, server, dataDir };
}

function stop(): Promise<void> {
  stopped ??= scanAndStop();
  return stopped;
}

async function scanAndStop(): Promise<void> {
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

/** A killed run leaves a server behind; the launcher can adopt and stop it. */
async function removeAbandoned(): Promise<void> {
  const log = createLog({ logLevel: 'silent', instanceName: 'test-database' });
  for (const name of await readdir(tmpdir())) {
    const dataDir = join(tmpdir(), name);
    if (!name.startsWith(directoryPrefix) || !(await isAbandoned(dataDir))) continue;
    try {
      await (await startEmbeddedPostgres({ dataDir, log, settings: testPostgresSettings })).stop();
      await rm(dataDir, { recursive: true, force: true });
    } catch {
      // The directory belongs to another user or is half removed; the next run checks it again.
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
