// Each command of README and the documentation is run by a test, or says why not.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pagesWithCommands } from './command-pages.ts';
import { commandBlocks } from './shell-blocks.ts';
import { demoGuides, guidesWithOwnTest } from './tested-guides.ts';

const pages = pagesWithCommands();
const isTested = (page: string) => Object.hasOwn({ ...demoGuides, ...guidesWithOwnTest }, page);

test('each block of commands is run by a test, or its mark not-run gives the reason', () => {
  const faults = pages.flatMap(({ page, blocks }) =>
    blocks
      .filter(({ notRun }) => (notRun === undefined ? !isTested(page) : notRun.length < 10))
      .map(({ line }) => `${page}:${line}`),
  );
  assert.deepEqual(
    faults,
    [],
    'Run these in tools/guides/tested-guides.ts, or add not-run="reason"',
  );
});

test('each page with a test has commands to run, and the test names the page', () => {
  for (const page of Object.keys({ ...demoGuides, ...guidesWithOwnTest })) {
    const blocks = pages.find((each) => each.page === page)?.blocks ?? [];
    assert.ok(
      blocks.some(({ notRun }) => notRun === undefined),
      page,
    );
  }
  for (const [page, file] of Object.entries(guidesWithOwnTest)) {
    const path = join(import.meta.dirname, file);
    assert.ok(existsSync(path), file);
    const name = page.replace(/^docs\//, '').replace(/(?<!README)\.md$/, '');
    assert.ok(readFileSync(path, 'utf8').includes(name), `${file} does not run ${page}`);
  }
});

test('commands are sh blocks and sessions with a prompt; the mark is in the line of the fence', () => {
  const fence = '```';
  const markdown = [
    `${fence}sh`,
    'one',
    fence,
    `${fence}sh till not-run="needs a till"`,
    'two',
    fence,
    `   ${fence}text`,
    '   $ three',
    `   ${fence}`,
    `${fence}json`,
    '{}',
    fence,
  ].join('\n');
  assert.deepEqual(commandBlocks(markdown), [
    { line: 1, notRun: undefined },
    { line: 4, notRun: 'needs a till' },
    { line: 7, notRun: undefined },
  ]);
});
