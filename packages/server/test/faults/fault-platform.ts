// A separate platform under load, for tests that kill it, its database or its disk.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import { createLog, type Database, openDatabase } from '../../src/platform/index.ts';
import { assertAgreement, type TransactionLedger } from '../payments/ledger/ledger-invariants.ts';
import { scanFolder } from '../support/card-data/leak-scan.ts';
import { freePorts } from '../support/free-ports.ts';
import type { Client } from '../support/https-client.ts';
import { createServerProcess, type ServerProcess } from '../support/processes/server-process.ts';
import { tokenOf, waitForLink } from './load-during-faults.ts';

export type FaultPlatform = {
  readonly server: ServerProcess;
  readonly host: AcquirerHost;
  /** The data directory of the platform. */
  readonly dataDir: string;
  /** A client of the running server with a token, after the link is available. */
  openClient(): Promise<{ client: Client; token: string }>;
  /** The current URL of the embedded database. */
  databaseUrl(): Promise<string>;
  /** The current process id of the embedded database. */
  databasePid(): Promise<number>;
  /** Asserts that ledger, replayed events and host ledger agree. */
  assertLedgersAgree(): Promise<readonly TransactionLedger[]>;
  stop(): Promise<void>;
};

export type FaultPlatformOptions = {
  /** The URL of an external database. */
  readonly databaseUrl?: string;
  readonly wrapperCommand?: (dataDir: string) => readonly string[];
  readonly settings?: Record<string, string>;
};

export const faultTimeoutMs = 1000;

export async function startFaultPlatform(
  options: FaultPlatformOptions = {},
): Promise<FaultPlatform> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-fault-'));
  const dataDir = join(directory, 'data');
  const ports = await freePorts(3);
  const host = await startAcquirerHost({
    host: '127.0.0.1',
    port: 0,
    ledgerDir: join(directory, 'ledger'),
    lateMs: faultTimeoutMs * 3,
    slowMs: 500,
  });
  const hasEmbeddedDatabase = options.databaseUrl === undefined;
  const server = createServerProcess(
    {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: String(ports[0]),
      SWITCHYARD_DEVICE_PORT: String(ports[1]),
      SWITCHYARD_METRICS_PORT: String(ports[2]),
      SWITCHYARD_ACQUIRER_PORT: String(host.port),
      SWITCHYARD_SIMULATORS: 'off',
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: String(faultTimeoutMs),
      SWITCHYARD_LOG_LEVEL: 'warn',
      ...(hasEmbeddedDatabase ? {} : { SWITCHYARD_DATABASE_URL: options.databaseUrl }),
      ...options.settings,
    },
    { through: options.wrapperCommand?.(dataDir) ?? [] },
  );

  /**
   * The lines of postmaster.pid: id, data, start, port, socket directory, with paths as the server
   * sees them.
   */
  async function pidFile(): Promise<string[]> {
    const file = `/proc/${server.pid()}/root${join(dataDir, 'postgres', 'data', 'postmaster.pid')}`;
    return (await readFile(file, 'utf8').catch(() => '')).split('\n');
  }

  async function databaseUrl(): Promise<string> {
    if (options.databaseUrl !== undefined) return options.databaseUrl;
    const [, , , port = '', socketDir = ''] = await pidFile();
    // Files in the server's own mount namespace are accessible through its process.
    const from = options.wrapperCommand === undefined ? '' : `/proc/${server.pid()}/root`;
    const host = `${from}${socketDir}`;
    const query = new URLSearchParams({ host, port, user: 'switchyard' });
    return `postgresql:///postgres?${query}&sslmode=disable`;
  }

  async function withDatabase<Result>(
    action: (openedDatabase: Database) => Promise<Result>,
  ): Promise<Result> {
    const log = createLog({ logLevel: 'silent', instanceName: 'fault-platform' });
    const database = openDatabase({ url: await databaseUrl(), log, connections: 2 });
    try {
      return await action(database);
    } finally {
      await database.close();
    }
  }

  return {
    server,
    host,
    dataDir,
    databaseUrl,
    async openClient() {
      const client = await server.client();
      const token = await tokenOf(server, client);
      await waitForLink(client, token);
      return { client, token };
    },
    async databasePid() {
      const [pid = ''] = await pidFile();
      return Number(pid);
    },
    async assertLedgersAgree() {
      const { organizationId } = await server.demoFacts();
      return withDatabase((database) => assertAgreement({ organizationId, host, database }));
    },
    async stop() {
      await server.stop();
      await host.stop();
      scanFolder(directory);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
