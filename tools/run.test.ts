import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './gates.ts';

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(root, 'tools/run.cjs'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, PATH: '' },
  });
}

test('an unknown command lists the known ones', () => {
  const { status, stderr } = run('fly');
  assert.equal(status, 2);
  for (const command of ['start', 'test', 'check', 'ledger']) assert.match(stderr, RegExp(command));
});

test('help on the start needs neither npm nor packages', () => {
  const { status, stdout } = run('start', '--help');
  assert.equal(status, 0);
  assert.match(stdout, /SWITCHYARD_DATA_DIR/);
});

test('a command runs under Node 24 and hands on its exit code', () => {
  const { status, stdout, stderr } = run('test', 'no/such/file');
  assert.equal(status, 1, stderr);
  assert.match(stdout, /0 test files ran/);
});
