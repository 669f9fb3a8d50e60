// Builds what a run needs: database, acquirer simulator, server and load generator, each a process.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createLog,
  type Database,
  type EmbeddedPostgres,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import { root } from '../../test-runner/static-checks.ts';
import { type SaleBaseline, startSaleBaseline } from '../baseline/sale-baseline-client.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readResidentMemory } from '../report/process-times.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import { type LoadClient, startLoadGenerator } from '../sales/load-client.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { type BenchOrganization, type Credentials, provisionOrganization } from './provision.ts';
import { type ServerProcess, startServer } from './server-process.ts';

export const migrations = join(root, 'packages/server/migrations');
const simulatorScript = join(root, 'packages/simulators/src/acquirer-host/main.ts');
const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));
const bareDatabase = 'bench_bare';
/** The bare line has up to 64 connections of its own; nothing else differs from `npm start`. */
const databaseSettings = { max_connections: '100' };
const simulatorLimitMs = 15_000;
const sampleEveryMs = 1000;

export type MemoryWatch = {
  /** The server's now and its highest so far, MiB. */
  now(): number;
  highest(): number;
};

export type BenchEnvironment = {
  folder: string;
  database: Database;
  organization: BenchOrganization;
  server: ServerProcess;
  load: LoadClient;
  api: ApiClient;
  /** The tokens of the merchants, by their identifiers. */
  tokens: ReadonlyMap<string, string>;
  baseline: SaleBaseline;
  memory: MemoryWatch;
  /** With all its children. */
  postgresPid: number;
  /** A database of the same server, for bare lines alone. */
  bareUrl: string;
  /** Fetches new tokens for the load, of so many merchants; they are good for an hour. */
  renewTokens(merchants?: number): Promise<void>;
  /** Refunds the first so many sales. */
  refundSome(count: number): Promise<void>;
};

export type BenchEnvironmentOptions = {
  terminals: number;
  connections: number;
  cards: number;
  seed: number;
  /** Entries of the simulator's ledger that it holds in memory, where they are many. */
  recentEntries?: number;
  /** The server gets a profiler that a signal starts and ends. */
  profile: boolean;
  keepsFolder: boolean;
};

/** A folder that is gone when the bench ends. */
export function makeFolder(closers: CloseStack, keepsFolder: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  if (keepsFolder) process.stderr.write(`bench: everything is kept in ${folder}\n`);
  else closers.add(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function startDatabase(
  closers: CloseStack,
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ postgres: EmbeddedPostgres; database: Database }> {
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const dataDir = join(folder, 'database');
  const starting = startEmbeddedPostgres({ dataDir, log, settings });
  // Added first: the bench may be interrupted before it is up.
  closers.add(async () => (await starting).stop());
  const postgres = await starting;
  const database = openDatabase({ url: postgres.url, log, connections: 2 });
  closers.add(() => database.close());
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIds });
  await database.session(({ query }) => query(`CREATE DATABASE ${bareDatabase}`));
  return { postgres, database };
}

/** A database of the same server, for bare lines alone. */
export function baselineDatabaseUrl(url: string): string {
  const other = new URL(url);
  other.pathname = `/${bareDatabase}`;
  return other.href;
}

async function startSimulator(
  closers: CloseStack,
  folder: string,
  recentEntries?: number,
): Promise<{ pid: number; port: number }> {
  const data = join(folder, 'acquirer');
  const args = [simulatorScript, 'serve', '--data', data, '--host', '127.0.0.1', '--port', '0'];
  if (recentEntries !== undefined) args.push('--segment', String(recentEntries));
  const child = closers.spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no acquirer simulator')), simulatorLimitMs);
    child.once('exit', () => reject(new Error('the acquirer simulator has ended')));
    child.stdout?.on('data', (chunk: Buffer) => {
      const match = /:(\d+)\s/.exec(chunk.toString());
      if (match === null) return;
      clearTimeout(limit);
      resolve(Number(match[1]));
    });
  });
  return { pid: child.pid ?? 0, port };
}

async function fetchToken(
  api: ApiClient,
  realm: string,
  credentials: Credentials,
): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
  });
  const answer = await api.post(`/oauth2/v1/${realm}/token`, {
    'content-type': 'application/x-www-form-urlencoded',
    text: form.toString(),
  });
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
  return String(JSON.parse(answer.text).access_token);
}

/** Looks at the server's memory every second, to know its highest. */
export function watchMemory(closers: CloseStack, pid: number): MemoryWatch {
  let highest = 0;
  function sample(): number {
    const resident = readResidentMemory(pid);
    highest = Math.max(highest, resident);
    return resident;
  }
  const timer = setInterval(sample, sampleEveryMs);
  closers.add(async () => clearInterval(timer));
  return { now: sample, highest: () => highest };
}

/** Refunds finished sales, so that there are operations to model others on. */
async function refund(of: {
  database: Database;
  api: ApiClient;
  tokens: ReadonlyMap<string, string>;
  organization: BenchOrganization;
  count: number;
}): Promise<void> {
  const rows = await of.database.query<{ transaction_id: string; merchant_id: string }>(
    `SELECT transaction_id, merchant_id FROM transactions
      WHERE organization_id = $1 AND state = 'Captured' ORDER BY transaction_id LIMIT $2`,
    [of.organization.organizationId, of.count],
  );
  for (const { transaction_id: id, merchant_id: merchantId } of rows) {
    const answer = await of.api.post(`/payment/v1/transactions/${id}/refund`, {
      'content-type': 'application/json',
      authorization: `Bearer ${of.tokens.get(merchantId)}`,
      text: '{}',
    });
    if (answer.status >= 300) throw new Error(`no refund: ${answer.status} ${answer.text}`);
  }
}

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openBenchEnvironment(
  closers: CloseStack,
  options: BenchEnvironmentOptions,
): Promise<BenchEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const { postgres, database } = await startDatabase(closers, folder, {
    ...databaseSettings,
    ...(options.profile ? statementCostSettings : {}),
  });
  const simulator = await startSimulator(closers, folder, options.recentEntries);
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const organization = await provisionOrganization({
    database,
    log,
    dataDir,
    acquirerPort: simulator.port,
    terminals: options.terminals,
  });
  const server = await startServer(closers, {
    dataDir,
    databaseUrl: postgres.url,
    way: 'process',
    ...(options.profile
      ? { flags: ['--import', profilerScript], variables: { BENCH_PROFILE: readProfile(folder) } }
      : {}),
  });
  const ca = readFileSync(server.caFile, 'utf8');
  const load = await startLoadGenerator(
    closers,
    {
      target: { host: '127.0.0.1', port: server.port, ca },
      authority: server.authority,
      connections: options.connections,
      cards: options.cards,
      seed: options.seed,
    },
    () => ({ server: server.pid, postgres: postgres.pid(), simulator: simulator.pid }),
  );
  const api = createApiClient(server, ca);
  const tokens = new Map<string, string>();
  async function renewTokens(merchants = organization.merchants.length): Promise<void> {
    const some = organization.merchants.slice(0, merchants);
    const tills = some.map(async ({ merchantId, credentials, deviceIds }) => {
      const token = await fetchToken(api, organization.realm, credentials);
      tokens.set(merchantId, token);
      return { token, deviceIds };
    });
    await load.setTills(await Promise.all(tills));
  }
  await renewTokens();
  const bareUrl = baselineDatabaseUrl(postgres.url);
  const baseline = await startSaleBaseline(closers, bareUrl);
  const memory = watchMemory(closers, server.pid);
  const refundSome = (count: number) => refund({ database, api, tokens, organization, count });
  const environment = {
    folder,
    database,
    organization,
    server,
    load,
    api,
    tokens,
    baseline,
    memory,
  };
  return { ...environment, bareUrl, postgresPid: postgres.pid(), renewTokens, refundSome };
}

export function readProfile(folder: string): string {
  return join(folder, 'server.cpuprofile');
}
