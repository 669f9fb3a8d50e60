import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planBatches } from './batches.ts';

const small = (path: string) => ({ path, text: "import { test } from 'node:test';\n" });
const large = (path: string) => ({ path, text: ' '.repeat(100_000) });
const starter = (path: string) => ({ path, text: "import { spawn } from 'node:child_process';\n" });
const named = (head: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${head}-${at}.test.ts`);

test('a few files are run by one process', () => {
  const files = named('a', 5);
  assert.deepEqual(planBatches(files.map(starter)), [files]);
  assert.deepEqual(planBatches([]), [[]]);
});

test('what starts processes comes first, a few files at a time; every file is there once', () => {
  const starters = named('starter', 7);
  const others = named('other', 30);
  const files = [...others.map(small), ...starters.map(starter)];
  const batches = planBatches(files);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [3, 3, 1, 30],
  );
  assert.deepEqual(batches.flat(), [...starters, ...others]);
});

test('large files make more batches, and small neighbours stay together', () => {
  const files = named('a', 20);
  const batches = planBatches(files.map(large));
  assert.deepEqual(batches.flat(), files);
  assert.ok(batches.every((batch) => batch.length === 2));
});
