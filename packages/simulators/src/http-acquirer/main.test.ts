// The reference acquirer as a process: its key, the requests it refuses, and the data it keeps when it is killed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
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

test('the simulator creates its key once, for its owner only, and prints the public key at the start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'http-acquirer-'));
  const { x: key } = loadSigningKey(directory);
  assert.match(key, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(statSync(join(directory, 'signing-key.pem')).mode & 0o777, 0o600);
  const dashed = `-${'A'.repeat(42)}`;
  const keys = [key, dashed].flatMap((each) => ['--platform-key', each]);
  const args = [main, 'serve', '--data', directory, '--port', '0', ...keys];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk);
  });
  const ended = once(child, 'exit').then(([code]) => assert.fail(`it ended with ${code}`));
  while (!output.includes('public key')) await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => {});
  assert.match(output, /^listening on http:\/\/127\.0\.0\.1:\d+\npublic key /);
  assert.ok(output.includes(key));
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
  rmSync(directory, { recursive: true });
});
