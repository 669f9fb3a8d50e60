// Starts the platform as its users do, as a process of its own, and times its first answer.
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import { repositoryRoot } from '../../repository-root.ts';
import { type CloseStack, hasEnded, stopProcess } from '../close-in-reverse-order.ts';
import { sendRequest, type Target } from './send-single-request.ts';

const { serverFlags, serverVariables } = createRequire(import.meta.url)('../../run.cjs') as {
  serverFlags: string[];
  serverVariables: Record<string, string>;
};

/** Needs identity and the database, and no token. */
const firstRequestPath = '/auth/realms/demo/.well-known/openid-configuration';
const startLimitMs = 90_000;
const askAgainMs = 20;
const tailLines = 15;

export type ServerProcess = {
  pid: number;
  /** Of the listener with mutual TLS. */
  devicePort: number;
  target: Target;
  /** From its start to the first answered request. */
  startSeconds: number;
  stop(): Promise<void>;
};

export type Ports = { port: number; devicePort: number };

export type ServerOptions = {
  dataDir: string;
  /** Left out, the server brings an embedded database of its own. */
  databaseUrl?: string;
  /** `npm start` as a whole, or the server's own process alone, whose times can then be read. */
  way: 'npm start' | 'process';
  /** Further flags for Node. */
  flags?: readonly string[];
  variables?: Readonly<Record<string, string>>;
  /** Left out: free ones. */
  ports?: Ports;
};

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

async function variablesOf(
  options: ServerOptions,
  { port, devicePort }: Ports,
): Promise<Record<string, string>> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith('SWITCHYARD_'),
  );
  return {
    ...serverVariables,
    ...Object.fromEntries(inherited),
    SWITCHYARD_ENVIRONMENT: 'demo',
    // As in production, where it is the default.
    SWITCHYARD_REQUEST_LOG: 'errors',
    SWITCHYARD_DATA_DIR: options.dataDir,
    SWITCHYARD_HOST: '127.0.0.1',
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_DEVICE_PORT: String(devicePort),
    SWITCHYARD_ACQUIRER_PORT: String(await freePort()),
    SWITCHYARD_QR_PROVIDER_PORT: '0',
    SWITCHYARD_METRICS_PORT: String(await freePort()),
    ...defined({ SWITCHYARD_DATABASE_URL: options.databaseUrl }),
    ...options.variables,
  };
}

/** While the server starts, its certificate is not there or its port is closed. */
async function answers(target: Target, caFile: string | undefined): Promise<boolean> {
  try {
    const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
    const { status } = await sendRequest({ ...target, ca }, { path: firstRequestPath });
    return status === 200;
  } catch {
    return false;
  }
}

function tailOf(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-tailLines).join('\n');
}

/** @throws Error with the end of the server's log where it does not come up */
export async function startServer(
  closers: CloseStack,
  options: ServerOptions,
): Promise<ServerProcess> {
  const { ports = { port: await freePort(), devicePort: await freePort() } } = options;
  const { port, devicePort } = ports;
  const caFile = join(options.dataDir, 'tls', 'ca.pem');
  const hasTls = options.variables?.['SWITCHYARD_TLS'] !== 'off';
  const target = { port, authority: `localhost:${port}` };
  const env = await variablesOf(options, { port, devicePort });
  const script =
    options.way === 'process'
      ? [
          ...serverFlags,
          ...(options.flags ?? []),
          join(repositoryRoot, 'packages/server/src/main.ts'),
        ]
      : [join(repositoryRoot, 'tools/run.cjs'), 'start'];
  const logFile = `${options.dataDir}.log`;
  const log = openSync(logFile, 'a', 0o600);
  const startedMs = performance.now();
  const child = closers.spawn(process.execPath, script, {
    cwd: repositoryRoot,
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  while (!(await answers(target, hasTls ? caFile : undefined))) {
    if (hasEnded(child)) throw new Error(`the server has ended:\n${tailOf(logFile)}`);
    if (performance.now() - startedMs > startLimitMs) {
      throw new Error(`the server does not answer:\n${tailOf(logFile)}`);
    }
    await pause(askAgainMs);
  }
  return {
    pid: child.pid ?? 0,
    devicePort,
    target: { ...target, ca: hasTls ? readFileSync(caFile, 'utf8') : undefined },
    startSeconds: (performance.now() - startedMs) / 1000,
    stop: () => stopProcess(child),
  };
}
