import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSource } from '../architecture-rules/source-files.ts';
import { repositoryRoot } from '../repository-root.ts';
import { readImporters, testsReachedBy } from './import-graph.ts';

const files = [
  { path: 'packages/money/src/index.ts', text: "export { add } from './add.ts';" },
  { path: 'packages/money/src/add.ts', text: 'export const add = 1;' },
  { path: 'packages/money/src/add.test.ts', text: "import { add } from './add.ts';\nadd;" },
  { path: 'packages/one/src/pay.ts', text: "import { add } from '@switchyard/money';\nadd;" },
  { path: 'packages/one/src/pay.test.ts', text: "import type { Pay } from './pay.ts';" },
  { path: 'packages/one/src/other.test.ts', text: "import 'node:fs';" },
  { path: 'tools/guide.test.ts', text: "const page = 'CONTRIBUTING.md';\npage;" },
].map(parseSource);
const importers = readImporters(files, repositoryRoot);

test('a changed file reaches the tests of its importers, through packages and types, nearest first', () => {
  assert.deepEqual(testsReachedBy(['packages/money/src/add.ts'], importers), [
    'packages/money/src/add.test.ts',
    'packages/one/src/pay.test.ts',
  ]);
});

test('a changed document reaches the test that names it', () => {
  assert.deepEqual(testsReachedBy(['CONTRIBUTING.md'], importers), ['tools/guide.test.ts']);
});

test('a changed test reaches itself', () => {
  const path = 'packages/one/src/other.test.ts';
  assert.deepEqual(testsReachedBy([path], importers), [path]);
});
