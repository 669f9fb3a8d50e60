import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './static-checks.ts';
import {
  longFiles,
  planBatches,
  planNearestFirst,
  smokeTests,
  splitByRun,
} from './test-batches.ts';

const small = (path: string) => ({ path, text: "import { test } from 'node:test';\n" });
const large = (path: string) => ({ path, text: ' '.repeat(100_000) });
const starter = (path: string) => ({ path, text: "import { spawn } from 'node:child_process';\n" });
const filesNamed = (head: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${head}-${at}.test.ts`);

test('a few files run in one process', () => {
  const files = filesNamed('a', 5);
  assert.deepEqual(planBatches(files.map(starter)), [files]);
  assert.deepEqual(planBatches([]), [[]]);
});

test('files that start processes come first, in small batches; every file is in one batch', () => {
  const starters = filesNamed('starter', 7);
  const others = filesNamed('other', 30);
  const files = [...others.map(small), ...starters.map(starter)];
  const batches = planBatches(files);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [5, 2, 30],
  );
  assert.deepEqual(batches.flat(), [...starters, ...others]);
});

test('long files start first, each in its own batch, the longest first', () => {
  const long = ['a/qr/killed-during-qr-payments.test.ts', 'b/faults/fault-server-killed.test.ts'];
  const others = filesNamed('other', 30);
  const batches = planBatches([...long.map(starter), ...others.map(small)]);
  assert.deepEqual(batches, [[long[1]], [long[0]], others]);
});

test('the listed long files and the smoke tests exist', () => {
  const all = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root }).sort();
  const missing = [...longFiles, ...smokeTests].filter(
    (name) => !all.some((path) => path.endsWith(name)),
  );
  assert.deepEqual(missing, []);
});

test('large files need more batches, and small neighbours share one', () => {
  const files = filesNamed('a', 20);
  const batches = planBatches(files.map(large));
  assert.deepEqual(batches.flat(), files);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [7, 7, 6],
  );
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
  const all = globSync('{packages/*/{src,test},tools}/**/*.test.ts', { cwd: root });
  const texts = all.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const wholeRunPaths = splitByRun(texts).wholeRun.map(({ path }) => path);
  const expectedPaths =
    /(server-killed|bad-input|card-data|acquirer-link|concurrent-sale-requests|payment-model)\.test/;
  assert.deepEqual(
    wholeRunPaths.filter((path) => expectedPaths.test(path)),
    [],
  );
});

test('a run of changed files begins with the smoke tests, and leaves the long files out', () => {
  const everyRun = [...smokeTests, 'far.test.ts', 'near.test.ts'].map(small);
  const batches = planNearestFirst(everyRun, ['near.test.ts', 'long.test.ts', 'far.test.ts']);
  assert.deepEqual(batches.flat(), [...smokeTests, 'near.test.ts', 'far.test.ts']);
});
