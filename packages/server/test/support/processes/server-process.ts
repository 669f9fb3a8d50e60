// The platform as a separate process, as `npm start` runs it, for tests that kill it.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scanText } from '../card-data/leak-scan.ts';
import { copyTemplateCluster } from '../database/migrated-database-template.ts';
import { type Client, createClient } from '../https-client.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** Passes the bundle of a whole run to its test processes; a single file has no bundle. */
export const bundleVariable = 'TEST_SERVER_BUNDLE';
/** The cache that `tools/run.cjs` uses; without it each start compiles the whole platform. */
const compileCache = fileURLToPath(
  new URL('../../../../../node_modules/.cache/node-compile', import.meta.url),
);

export type DemoFacts = {
  baseUrl: string;
  metricsUrl: string;
  caFile: string;
  userDomainId: string;
  organizationId: string;
  merchants: { merchantId: string; name: string; stores: { storeId: string }[] }[];
  applications: Record<string, { clientId: string; clientSecret: string; merchantId?: string }>;
  devices: { tsn: string; family: string; logicalDeviceId: string; storeId: string }[];
};

export type ServerProcess = {
  start(extra?: Record<string, string>): Promise<void>;
  /** Sends SIGKILL, as in a power failure, and waits for the end of the process. */
  kill(): Promise<void>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
  /** Resolves when the process has ended without a signal. */
  waitForEnd(): Promise<void>;
  demoFacts(): Promise<DemoFacts>;
  client(): Promise<Client>;
  output(): string;
  /** The process id of the last start. */
  pid(): number;
};

/** Removes the banner, because its sample command contains a published test card number. */
const logLines = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .join('\n');

const faultLines = (output: string) =>
  logLines(output)
    .split('\n')
    .filter((line) => /"level":"(?:error|fatal)"/.test(line))
    .slice(-10)
    .join('\n');

const startLimitMs = 120_000;
/** Tests share the machine, so a slow moment must not cause an overload response. */
const highLoadSettings = { SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000' };
const pollMs = 25;
const outputMax = 200_000;

/** The environment that `tools/run.cjs` passes on, without settings of the caller. */
export function inheritedEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE: cache = compileCache } = process.env;
  return { PATH, NODE_COMPILE_CACHE: cache };
}

export type ProcessOptions = {
  /** A command that runs before node and becomes the process. */
  readonly through?: readonly string[];
  /** Starts from the sources, as users do, for tests of the start itself. */
  readonly isFromSource?: boolean;
};

/** @param env settings of the process; the ports and the data directory among them */
export function createServerProcess(
  env: Record<string, string>,
  { through: wrapperCommand = [], isFromSource = false }: ProcessOptions = {},
): ServerProcess {
  const program = isFromSource ? main : (process.env[bundleVariable] ?? main);
  let child: ChildProcess | undefined;
  let output = '';
  let client: Client | undefined;
  const dataDir = env['SWITCHYARD_DATA_DIR'] ?? '';
  /** The process has an embedded database whose files are visible to the test. */
  const hasOwnDatabase =
    env['SWITCHYARD_DATABASE_URL'] === undefined && wrapperCommand.length === 0;

  async function demoFacts(): Promise<DemoFacts> {
    return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as DemoFacts;
  }

  const waitForExit = (childProcess: ChildProcess) =>
    childProcess.exitCode !== null || childProcess.signalCode !== null
      ? Promise.resolve()
      : new Promise<void>((resolve) => childProcess.once('exit', () => resolve()));

  async function isReady(): Promise<boolean> {
    try {
      const { metricsUrl } = await demoFacts();
      return (await fetch(`${metricsUrl}/readyz`)).status === 200;
    } catch {
      return false;
    }
  }

  return {
    async start(extra = {}) {
      if (hasOwnDatabase) await copyTemplateCluster(join(dataDir, 'postgres'));
      const [command = process.execPath, ...args] = [...wrapperCommand, process.execPath, program];
      const started = spawn(command, args, {
        env: {
          ...inheritedEnvironment(),
          ...highLoadSettings,
          SWITCHYARD_QR_PROVIDER_PORT: '0',
          ...env,
          ...extra,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      const appendOutput = (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-outputMax);
      };
      started.stdout.on('data', appendOutput);
      started.stderr.on('data', appendOutput);
      const end = Date.now() + startLimitMs;
      while (!(await isReady())) {
        if (started.exitCode !== null || started.signalCode !== null || Date.now() > end) {
          throw new Error(`the server did not start:\n${output.slice(-4000)}`);
        }
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    },
    async kill() {
      client?.close();
      client = undefined;
      if (child === undefined) return;
      child.kill('SIGKILL');
      await waitForExit(child);
    },
    async stop() {
      client?.close();
      client = undefined;
      if (child === undefined) return null;
      child.kill('SIGTERM');
      await waitForExit(child);
      scanText('the log of a server', logLines(output));
      // Prints the fault lines, because the exit code alone does not give the reason.
      if (child.exitCode !== 0) process.stderr.write(`${faultLines(output)}\n`);
      return child.exitCode;
    },
    waitForEnd: () => (child === undefined ? Promise.resolve() : waitForExit(child)),
    demoFacts,
    async client() {
      const { baseUrl, caFile } = await demoFacts();
      client ??= createClient(baseUrl, await readFile(caFile, 'utf8'));
      return client;
    },
    output: () => output,
    pid: () => child?.pid ?? 0,
  };
}
