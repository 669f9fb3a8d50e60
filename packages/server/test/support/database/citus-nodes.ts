// Databases on a running Citus, for the tests that `npm run drill -- citus` runs on it.
import { randomUUID } from 'node:crypto';
import { createLog, openDatabase, type Queries } from '../../../src/platform/index.ts';

/** Names the nodes to the test processes as a list of URLs with commas, the coordinator first. */
export const citusNodesVariable = 'TEST_CITUS_NODES';

/** The URLs of an administrator at each node. */
export type CitusNodes = { readonly coordinator: string; readonly workers: readonly string[] };

/** Undefined unless the drill runs the tests. */
export function citusNodesOfTests(): CitusNodes | undefined {
  const [coordinator, ...workers] = process.env[citusNodesVariable]?.split(',') ?? [];
  return coordinator === undefined ? undefined : { coordinator, workers };
}

/** Any number; the test processes use no other advisory lock in this database. */
const addNodesLock = 1;

const log = createLog({ logLevel: 'warn', instanceName: 'citus' });

async function runOn(url: string, work: (queries: Queries) => Promise<void>): Promise<void> {
  const database = openDatabase({ url, log, connections: 1, engine: 'postgresql' });
  try {
    await database.session(work);
  } finally {
    await database.close();
  }
}

function withDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}

/** Creates a database with the extension at one node. */
export async function createDatabaseAtNode(url: string, name: string): Promise<void> {
  await runOn(url, async (queries) => {
    await queries.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  });
  await runOn(withDatabase(url, name), async (queries) => {
    await queries.query('CREATE EXTENSION citus');
  });
}

/** The host and the port by which the other nodes connect to a node. */
export function addressOf(url: string): [host: string, port: number] {
  const { hostname, port } = new URL(url);
  return [hostname, Number(port || 5432)];
}

/**
 * Creates an empty database with all nodes in it.
 *
 * @returns its URL at the coordinator
 */
export async function createCitusDatabase(
  { coordinator, workers }: CitusNodes,
  name = `test_${randomUUID().replaceAll('-', '')}`,
): Promise<string> {
  for (const node of [coordinator, ...workers]) await createDatabaseAtNode(node, name);
  const url = withDatabase(coordinator, name);
  // One database at a time: concurrent calls of `citus_add_node` fail with a lost connection to a worker.
  await runOn(coordinator, async (lock) => {
    await lock.query('SELECT pg_advisory_lock($1)', [addNodesLock]);
    await runOn(url, async (queries) => {
      await queries.query('SELECT citus_set_coordinator_host($1, $2)', addressOf(coordinator));
      for (const worker of workers)
        await queries.query('SELECT citus_add_node($1, $2)', addressOf(worker));
    });
  });
  return url;
}
