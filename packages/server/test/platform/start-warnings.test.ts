// Whole run: commands as users start them, each a process of its own.
// Warnings about settings are in the log of each start, also if the start fails later.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeCertificate } from '../../src/http/authentication/certificate.fixture.ts';
import { freePorts } from '../support/free-ports.ts';
import { inheritedEnvironment } from '../support/processes/server-process.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('an allowed plain connection and an unknown setting are warnings in the log of a start in production', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-warnings-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const { cert, key } = await makeCertificate('localhost');
  const [certFile, keyFile] = [join(directory, 'tls.pem'), join(directory, 'tls-key.pem')];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const [port, devicePort, metricsPort, noDatabase] = (await freePorts(4)).map(String);
  const child = spawn(process.execPath, [main], {
    env: {
      ...inheritedEnvironment(),
      SWITCHYARD_ENVIRONMENT: 'production',
      SWITCHYARD_REGION: 'eur',
      SWITCHYARD_DATA_DIR: join(directory, 'data'),
      // No server listens there, so the start ends.
      SWITCHYARD_DATABASE_URL: `postgresql://switchyard@127.0.0.1:${noDatabase}/pay`,
      SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_TLS_CERT_FILE: certFile,
      SWITCHYARD_TLS_KEY_FILE: keyFile,
      SWITCHYARD_SMTP_URL: 'smtp://mail.example',
      SWITCHYARD_MAIL_FROM: 'Example Pay <no-reply@pay.example>',
      SWITCHYARD_PLAIN_CONNECTIONS: 'mail',
      SWITCHYARD_OF_A_LATER_VERSION: 'on',
      SWITCHYARD_HOST: 'localhost',
      SWITCHYARD_BASE_URL: `https://localhost:${port}`,
      SWITCHYARD_PORT: port,
      SWITCHYARD_DEVICE_PORT: devicePort,
      SWITCHYARD_METRICS_PORT: metricsPort,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [log, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const warnings = log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: string; msg: string })
    .filter(({ level }) => level === 'warn')
    .map(({ msg }) => msg.split(' ', 1)[0]);
  assert.deepEqual(
    warnings.slice(0, 2),
    ['SWITCHYARD_OF_A_LATER_VERSION', 'SWITCHYARD_SMTP_URL'],
    log + errors,
  );
});
