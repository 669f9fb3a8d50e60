// One running platform for all end-to-end tests: real PostgreSQL, real TLS, a real acquirer host.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import { type Application, createApplication } from '../../src/application.ts';
import {
  createLog,
  type Database,
  ensureListenerCertificate,
  readSettings,
  type Settings,
} from '../../src/platform/index.ts';
import { hostOverCapturePercent } from '../payments/ledger/payment-model.ts';
import { scanFolder, scanText } from './card-data/leak-scan.ts';
import { testDatabase } from './database/test-database.ts';
import { freePorts } from './free-ports.ts';
import { highLoadLimits } from './high-load-limits.ts';
import { type Client, createClient } from './https-client.ts';
import { testPasswordHasher } from './identity/test-password-hasher.ts';
import { makeRealmKey } from './processes/realm-key-pool.ts';
import { startTraceCollector, type TraceCollector } from './trace-collector.ts';

export type TestPlatform = {
  platform: Application;
  host: AcquirerHost;
  settings: Settings;
  client: Client;
  ca: string;
  logLines: string[];
  /** Gets the traces of all requests. */
  traces: TraceCollector;
  /** The hot SQL statements that the platform has executed, by name. */
  hotStatements: ReadonlyMap<string, string>;
};

/** The acquirer timeout of the test platform in ms: more than twice the time of a slow response. */
export const testTimeoutMs = 3000;
/**
 * The delay of the simulator's late responses in ms. It is longer than the timeout, even if the
 * thread was blocked for a second.
 */
export const testLateMs = testTimeoutMs + 2500;

async function startTestPlatform(): Promise<TestPlatform> {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-test-platform-'));
  const host = await startAcquirerHost({
    host: '127.0.0.1',
    port: 0,
    ledgerDir: join(dataDir, 'acquirer'),
    lateMs: testLateMs,
    slowMs: 1200,
    overCapturePercent: hostOverCapturePercent,
  });
  const [port, devicePort] = await freePorts(2);
  const traces = await startTraceCollector();
  const settings = readSettings({
    SWITCHYARD_ENVIRONMENT: 'demo',
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_DEVICE_PORT: String(devicePort),
    SWITCHYARD_ACQUIRER_TIMEOUT_MS: String(testTimeoutMs),
    SWITCHYARD_LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  const logLines: string[] = [];
  const log = createLog(settings, { write: (line: string) => void logLines.push(line) });
  const tls = await ensureListenerCertificate({ settings, clock: { now: () => Date.now() } });
  const hotStatements = new Map<string, string>();
  const database = recordHotStatements(await testDatabase(), hotStatements);
  const platform = await createApplication({
    settings,
    database,
    log,
    tls,
    validatesResponses: true,
    makeRealmKey,
    passwordHasher: testPasswordHasher,
    loadLimits: highLoadLimits,
  });
  await platform.start();
  await platform.http.listen();
  const ca = await readFile(tls.caFile, 'utf8');
  const client = createClient(settings.baseUrl, ca);
  return { platform, host, settings, client, ca, logLines, traces, hotStatements };
}

/** Records the hot statements that the platform executes, so tests need no list of them. */
function recordHotStatements(database: Database, hotStatements: Map<string, string>): Database {
  return {
    ...database,
    hot(statement, ...parameters) {
      hotStatements.set(statement.name, statement.text);
      return database.hot(statement, ...parameters);
    },
    hotCommit(statements) {
      for (const [{ name, text }] of statements) hotStatements.set(name, text);
      return database.hotCommit(statements);
    },
  };
}

let shared: Promise<TestPlatform> | undefined;

// At the top level the hook belongs to the whole run, not to the first test.
after(async () => {
  if (shared === undefined) return;
  const { client, platform, host, settings, logLines, traces } = await shared;
  client.close();
  await platform.stop();
  await host.stop();
  await traces.stop();
  scanText('the log', logLines.join(''));
  scanText('the traces', traces.bodies.join('\n'));
  scanFolder(settings.dataDir);
  await rm(settings.dataDir, { recursive: true, force: true });
});

/** The shared platform; the first call starts it. */
export function testPlatform(): Promise<TestPlatform> {
  shared ??= startTestPlatform();
  return shared;
}
