// The reference acquirer as a process: its key, the requests it refuses, and the data it keeps when it is killed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureCertificate } from '../terminal/connections/listener-certificate.ts';
import { loadSigningKey } from './message-signatures.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

function run(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
}

test('the command prints its help, and refuses an invalid argument', () => {
  const help = run('--help');
  assert.equal(help.status, 0);
  assert.match(help.stdout, /http-acquirer serve --data DIR/);
  const { status, stderr } = run('serve', '--data', 'x', '--platform-key', 'short');
  assert.equal(status, 2);
  assert.match(stderr, /43 characters/);
});

async function serve(directory: string, ...options: readonly string[]) {
  const args = [main, 'serve', '--data', directory, '--port', '0', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk);
  });
  const ended = once(child, 'exit').then(([code]) => assert.fail(`it ended with ${code}`));
  while (!output.includes('public key')) await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => {});
  return { child, output };
}

async function end(child: ReturnType<typeof spawn>) {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
}

test('the simulator creates its key once, for its owner only, and prints the public key at the start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'http-acquirer-'));
  const { x: key } = loadSigningKey(directory);
  assert.match(key, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(statSync(join(directory, 'signing-key.pem')).mode & 0o777, 0o600);
  const dashed = `-${'A'.repeat(42)}`;
  const keys = [key, dashed].flatMap((each) => ['--platform-key', each]);
  const { child, output } = await serve(directory, ...keys);
  assert.match(output, /^listening on http:\/\/127\.0\.0\.1:\d+\npublic key /);
  assert.ok(output.includes(key));
  await end(child);
  rmSync(directory, { recursive: true });
});

test('the simulator requires TLS, and the client certificate of an authority that it trusts', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'http-acquirer-tls-'));
  const makeCertificate = (name: string) =>
    ensureCertificate(join(directory, name), [name], Date.now());
  const host = makeCertificate('localhost');
  const { cert, key, certFile } = makeCertificate('platform');
  const { child, output } = await serve(
    join(directory, 'ledger'),
    `--platform-key=${'A'.repeat(43)}`,
    `--tls-cert=${host.certFile}`,
    `--tls-key=${join(directory, 'localhost', 'local-key.pem')}`,
    `--tls-client-ca=${certFile}`,
  );
  const [, port] = /^listening on https:\/\/127\.0\.0\.1:(\d+)\n/.exec(output) ?? [];
  const send = async (identity: object) => {
    const address = { host: '127.0.0.1', port, path: '/v1/echo', method: 'POST' };
    const call = request({ ...address, servername: 'localhost', ca: host.cert, ...identity });
    const [response] = (await once(call.end(), 'response')) as [IncomingMessage];
    return response.resume().statusCode;
  };
  // The message has no signature.
  assert.equal(await send({ cert, key }), 401);
  await assert.rejects(send({}));
  await end(child);
  rmSync(directory, { recursive: true });
});
