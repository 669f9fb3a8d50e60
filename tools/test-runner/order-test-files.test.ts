import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import {
  longFiles,
  nearestFirst,
  smokeTests,
  splitByRun,
  waitingFirst,
} from './order-test-files.ts';

const plain = (path: string) => ({ path, text: "import { test } from 'node:test';\n" });
const starter = (path: string) => ({ path, text: "import { spawn } from 'node:child_process';\n" });

test('long files come first, the longest first, then files that start processes', () => {
  const long = ['a/qr/killed-during-qr-payments.test.ts', 'b/faults/fault-server-killed.test.ts'];
  const others = ['c.test.ts', 'd.test.ts'];
  const files = [...others.map(plain), starter('e.test.ts'), ...long.map(starter)];
  assert.deepEqual(waitingFirst(files), [long[1], long[0], 'e.test.ts', 'c.test.ts', 'd.test.ts']);
});

test('the listed long files and the smoke tests exist', () => {
  const all = globSync('{packages/*/{src,test},tools}/**/*.test.ts', {
    cwd: repositoryRoot,
  }).sort();
  const missing = [...longFiles, ...smokeTests].filter(
    (name) => !all.some((path) => path.endsWith(name)),
  );
  assert.deepEqual(missing, []);
});

test('the first line of a file says why it runs only in whole runs', () => {
  const files = [
    { path: 'a', text: '// Whole run: pages in a browser.\nimport' },
    { path: 'b', text: '// Whole run:\nimport' },
    { path: 'c', text: 'import\n// Whole run: never mind.\n' },
  ];
  const { everyRun, wholeRun } = splitByRun(files);
  assert.deepEqual(wholeRun, [files[0]]);
  assert.deepEqual(everyRun, files.slice(1));
});

test('sales, cards, kills and the model of payments are tested in every run', () => {
  const all = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: repositoryRoot });
  const texts = all.map((path) => ({
    path,
    text: readFileSync(join(repositoryRoot, path), 'utf8'),
  }));
  const wholeRunPaths = splitByRun(texts).wholeRun.map(({ path }) => path);
  const expectedPaths =
    /(server-killed|bad-input|card-data|acquirer-link|concurrent-sale-requests|payment-model)\.test/;
  assert.deepEqual(
    wholeRunPaths.filter((path) => expectedPaths.test(path)),
    [],
  );
});

test('a run of changed files begins with the smoke tests, and leaves the long files out', () => {
  const everyRun = [...smokeTests, 'far.test.ts', 'near.test.ts'].map(plain);
  const files = nearestFirst(everyRun, ['near.test.ts', 'long.test.ts', 'far.test.ts']);
  assert.deepEqual(files, [...smokeTests, 'near.test.ts', 'far.test.ts']);
});
