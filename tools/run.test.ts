import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCertificate } from '../packages/server/src/http/authentication/certificate.fixture.ts';
import { testSchemaUrl } from '../packages/server/test/support/database/test-database.ts';
import { freePorts } from '../packages/server/test/support/free-ports.ts';
import { repositoryRoot } from './repository-root.ts';

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(repositoryRoot, 'tools/run.cjs'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, PATH: '' },
  });
}

test('an unknown command lists the known commands', () => {
  const { status, stderr } = run('fly');
  assert.equal(status, 2);
  for (const command of ['start', 'test', 'check', 'admin']) assert.match(stderr, RegExp(command));
});

test('npm start -- --help needs neither npm nor packages', () => {
  const { status, stdout } = run('start', '--help');
  assert.equal(status, 0);
  assert.match(stdout, /SWITCHYARD_DATA_DIR/);
});

test('npm start -- --version prints the version and starts nothing', () => {
  const { status, stdout, stderr } = run('start', '--version');
  assert.equal(status, 0, stderr);
  assert.equal(stdout, '0.1.0\n');
});

test('a command runs under Node 24, and its exit code is passed on', () => {
  const { status, stdout, stderr } = run('test', 'no/such/file');
  assert.equal(status, 1, stderr);
  assert.match(stdout, /0 test files ran/);
});

test('a signal to npm also ends the program, although the shell does not forward it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-run-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const command = [
    process.execPath,
    join(repositoryRoot, 'tools/run.cjs'),
    'qr-provider',
    'serve',
    '--for-check',
    '--port',
    '0',
    '--data',
    folder,
  ];
  // As npm does it, with a shell that stays beside what it runs.
  const shell = spawn('sh', ['-c', `"${command.join('" "')}"; exit 0`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, npm_lifecycle_event: 'qr-provider' },
  });
  const ended = new Promise((resolve) => shell.stdout.once('close', resolve));
  const listening = new Promise<void>((resolve) => {
    shell.stdout.on('data', (part: Buffer) => {
      if (part.toString().includes('listening on')) resolve();
    });
  });
  await Promise.race([listening, ended]);
  shell.kill('SIGTERM');
  // The program holds the other end of the pipe for as long as it runs.
  await ended;
});

test('the server stops when the process that started it was killed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-run-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [certFile, keyFile] = [join(folder, 'tls.pem'), join(folder, 'tls-key.pem')];
  const { cert, key } = await makeCertificate('localhost');
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const [port, metricsPort] = await freePorts(2);
  const launcher = spawn(process.execPath, [join(repositoryRoot, 'tools/run.cjs'), 'start'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      SWITCHYARD_ENVIRONMENT: 'production',
      SWITCHYARD_REGION: 'eur',
      SWITCHYARD_ROLES: 'jobs',
      SWITCHYARD_DATA_DIR: join(folder, 'data'),
      SWITCHYARD_DATABASE_URL: await testSchemaUrl(),
      SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_TLS_CERT_FILE: certFile,
      SWITCHYARD_TLS_KEY_FILE: keyFile,
      SWITCHYARD_SMTP_URL: 'smtp://127.0.0.1:1',
      SWITCHYARD_MAIL_FROM: 'no-reply@pay.example',
      SWITCHYARD_HOST: 'localhost',
      SWITCHYARD_BASE_URL: `https://localhost:${port}`,
      SWITCHYARD_PORT: String(port),
      SWITCHYARD_METRICS_PORT: String(metricsPort),
    },
  });
  t.after(() => launcher.kill('SIGKILL'));
  let output = '';
  const ended = once(launcher.stdout, 'close');
  const ready = new Promise<void>((resolve) => {
    launcher.stdout.on('data', (part: Buffer) => {
      output += part.toString();
      if (output.includes('"msg":"ready"')) resolve();
    });
  });
  await Promise.race([ready, ended]);
  assert.match(output, /"msg":"ready"/);
  launcher.kill('SIGKILL');
  // The server holds the other end of the pipe for as long as it runs.
  await ended;
});
