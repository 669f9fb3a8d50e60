// A platform as in production: a separate process, no demo data, first operator created by command.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import { makeCertificate } from '../../../src/http/authentication/certificate.fixture.ts';
import { testSchemaUrl } from '../database/test-database.ts';
import { freePorts } from '../free-ports.ts';
import { type Client, createClient } from '../https-client.ts';
import { type SmtpTestServer, startSmtpTestServer } from '../mail/smtp-test-server.ts';
import { until } from '../wait-for-result.ts';

const script = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const main = script('../../../src/main.ts');
const switchyardCommand = script('../../../../../tools/admin/main.ts');
const startLimitMs = 120_000;
const outputMax = 100_000;

export type Operator = {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly clientId: string;
  readonly clientSecret: string;
};

export type ProductionPlatform = {
  readonly baseUrl: string;
  readonly caFile: string;
  readonly client: Client;
  /** A device with its certificate, at its own listener and at the API. */
  asDevice(certificate: { cert: string; key: string }): { security: Client; api: Client };
  readonly mail: SmtpTestServer;
  readonly host: AcquirerHost;
  readonly operator: Operator;
  /** Runs `switchyard admin` with the settings of the platform. */
  runAdminCommand(args: readonly string[]): Promise<CommandResult>;
  /** The port of the listener for devices. */
  readonly devicePort: number;
  /** Starts a second process of this platform, with other ports and the changed settings. */
  startProcess(changes: Variables): Promise<AdditionalProcess>;
  close(): Promise<void>;
};

export type AdditionalProcess = {
  readonly port: number;
  readonly devicePort: number;
  /** The result of the process, if it ended before it became ready. */
  readonly ended: CommandResult | undefined;
  stop(): Promise<void>;
};

type CommandResult = {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
};
type Variables = Readonly<Record<string, string>>;

/** The environment that every command inherits, without settings of the caller. */
function inheritedVariables(): Variables {
  const { PATH = '', NODE_COMPILE_CACHE: cache } = process.env;
  return { PATH, ...defined({ NODE_COMPILE_CACHE: cache }) };
}

function start(path: string, args: readonly string[], variables: Variables) {
  const child = spawn(process.execPath, [path, ...args], {
    env: { ...inheritedVariables(), ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] = (output[name] + chunk.toString()).slice(-outputMax);
    });
  }
  const ended = new Promise<CommandResult>((resolve) =>
    child.once('close', (status) => resolve({ status, ...output })),
  );
  return { child, output, ended };
}

/** Waits until the process is ready or has ended. */
async function waitUntilReadyOrEnded(
  { child }: ReturnType<typeof start>,
  metricsPort: string | undefined,
) {
  const hasEnded = () => child.exitCode !== null || undefined;
  const isReady = () =>
    fetch(`http://127.0.0.1:${metricsPort}/readyz`).then(
      ({ status }) => status === 200 || hasEnded(),
      hasEnded,
    );
  await until(isReady, 'the start', startLimitMs);
}

async function createSettings(directory: string, mail: SmtpTestServer, acquirerPort: number) {
  const [port, devicePort, metricsPort] = (await freePorts(3)).map(String);
  const { cert, key } = await makeCertificate('localhost');
  const files = { cert: join(directory, 'tls.pem'), key: join(directory, 'tls-key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  const variables: Variables = {
    SWITCHYARD_ENVIRONMENT: 'production',
    SWITCHYARD_REGION: 'eur',
    SWITCHYARD_DATA_DIR: join(directory, 'data'),
    SWITCHYARD_DATABASE_URL: await testSchemaUrl(),
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_TLS_CERT_FILE: files.cert,
    SWITCHYARD_TLS_KEY_FILE: files.key,
    SWITCHYARD_SMTP_URL: mail.url,
    SWITCHYARD_MAIL_FROM: 'Example Pay <no-reply@pay.example>',
    SWITCHYARD_HOST: 'localhost',
    SWITCHYARD_BASE_URL: `https://localhost:${port}`,
    SWITCHYARD_PORT: port ?? '',
    SWITCHYARD_ACQUIRER_TLS_PROXIES: `127.0.0.1:${acquirerPort}`,
    SWITCHYARD_DEVICE_PORT: devicePort ?? '',
    SWITCHYARD_METRICS_PORT: metricsPort ?? '',
    // Devices also call the API with their certificates.
    SWITCHYARD_CLIENT_CERTIFICATES: 'on',
    SWITCHYARD_LOG_LEVEL: 'warn',
    // Overload refusals are off, because the machine may be busy.
    SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000',
  };
  return { variables, ca: cert, caFile: files.cert, port, devicePort, metricsPort };
}

/** @param changes settings that differ from those of the test platform */
export async function startProductionPlatform(
  changes: Variables = {},
): Promise<ProductionPlatform> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-empty-'));
  const mail = await startSmtpTestServer();
  const host = await startAcquirerHost({
    host: '127.0.0.1',
    port: 0,
    ledgerDir: join(directory, 'acquirer'),
    lateMs: 3000,
    slowMs: 500,
  });
  const made = await createSettings(directory, mail, host.port);
  const { ca, caFile, port, devicePort, metricsPort } = made;
  const variables = { ...made.variables, ...changes };
  const command = (args: readonly string[]) =>
    start(switchyardCommand, ['admin', ...args], variables).ended;
  const created = await command(['operator', 'create', '--json']);
  assert.equal(created.status, 0, created.stderr);
  const server = start(main, [], variables);
  await waitUntilReadyOrEnded(server, metricsPort);
  assert.equal(server.child.exitCode, null, server.output.stderr);
  const baseUrl = `https://localhost:${port}`;
  const client = createClient(baseUrl, ca);
  return {
    baseUrl,
    caFile,
    client,
    mail,
    host,
    runAdminCommand: command,
    devicePort: Number(devicePort),
    asDevice: (certificate) => ({
      security: createClient(`https://localhost:${devicePort}`, ca, certificate),
      api: createClient(baseUrl, ca, certificate),
    }),
    operator: JSON.parse(created.stdout) as Operator,
    async startProcess(otherChanges) {
      const ports = (await freePorts(3)).map(String);
      const [ownPort = '', ownDevicePort = '', ownMetricsPort = ''] = ports;
      const process = start(main, [], {
        ...variables,
        SWITCHYARD_PORT: ownPort,
        SWITCHYARD_DEVICE_PORT: ownDevicePort,
        SWITCHYARD_METRICS_PORT: ownMetricsPort,
        ...otherChanges,
      });
      await waitUntilReadyOrEnded(process, ownMetricsPort);
      const hasEnded = process.child.exitCode !== null;
      return {
        port: Number(ownPort),
        devicePort: Number(ownDevicePort),
        ended: hasEnded ? await process.ended : undefined,
        async stop() {
          process.child.kill('SIGTERM');
          await process.ended;
        },
      };
    },
    async close() {
      client.close();
      server.child.kill('SIGTERM');
      await server.ended;
      await host.stop();
      await mail.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
