// Starts the platform in production with settings under which the start fails.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeCertificate } from '../../../src/http/authentication/certificate.fixture.ts';
import { freePorts } from '../free-ports.ts';
import { inheritedEnvironment } from './server-process.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

export type LogLine = { readonly level: string; readonly msg: string; readonly reason?: string };

export type FailedStart = {
  readonly status: number | null;
  readonly lines: readonly LogLine[];
  readonly stdout: string;
  readonly stderr: string;
};

/** @param changes settings in addition to those of a valid platform without a database */
export async function startInProduction(
  t: TestContext,
  changes: Readonly<Record<string, string>>,
): Promise<FailedStart> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-start-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const { cert, key } = await makeCertificate('localhost');
  const [certFile, keyFile] = [join(directory, 'tls.pem'), join(directory, 'tls-key.pem')];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const [port, devicePort, metricsPort] = (await freePorts(3)).map(String);
  const child = spawn(process.execPath, [main], {
    env: {
      ...inheritedEnvironment(),
      SWITCHYARD_ENVIRONMENT: 'production',
      SWITCHYARD_REGION: 'eur',
      SWITCHYARD_DATA_DIR: join(directory, 'data'),
      SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_TLS_CERT_FILE: certFile,
      SWITCHYARD_TLS_KEY_FILE: keyFile,
      SWITCHYARD_SMTP_URL: 'smtps://mail.example',
      SWITCHYARD_MAIL_FROM: 'Example Pay <no-reply@pay.example>',
      SWITCHYARD_HOST: 'localhost',
      SWITCHYARD_BASE_URL: `https://localhost:${port}`,
      SWITCHYARD_PORT: port,
      SWITCHYARD_DEVICE_PORT: devicePort,
      SWITCHYARD_METRICS_PORT: metricsPort,
      ...changes,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return { status: await ended, lines: lines.map((line) => JSON.parse(line)), stdout, stderr };
}

/** The reason is on standard error, and in one line of the log with the level `error`. */
export function assertReason({ lines, stderr }: FailedStart, reason: RegExp): void {
  assert.match(stderr, reason);
  const faults = lines.filter(({ level }) => level === 'error');
  assert.deepEqual(
    faults.map(({ msg }) => msg),
    ['the platform did not start'],
  );
  assert.match(faults[0]?.reason ?? '', reason);
}
