import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { changedFiles } from './changed-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-changed-'));
const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const git = (...args: string[]): void => {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  execFileSync('git', [...author, ...args], { cwd: folder, stdio: 'ignore' });
};
after(() => rmSync(folder, { recursive: true, force: true }));

git('init', '-b', 'main');
for (const name of ['kept', 'changed', 'committed']) put(name, '1');
git('add', '.');
git('commit', '-m', 'first');
git('checkout', '-b', 'branch');
put('committed', '2');
git('commit', '-am', 'second');
put('changed', '2');
put('new', '1');

test('files that differ from the shared commit are named, committed or not', () => {
  assert.deepEqual(changedFiles(folder, 'main'), ['changed', 'committed', 'new']);
  assert.deepEqual(changedFiles(folder, 'HEAD'), ['changed', 'new']);
});

test('a commit that does not exist is an error', () => {
  assert.throws(() => changedFiles(folder, 'nowhere'), /nowhere/);
});
