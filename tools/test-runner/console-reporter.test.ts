// Whole run: much is made, or waited for, before it shows.
// The watch over a process of tests, in a process of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import { exitCodes } from './console-reporter.ts';

const silenceSeconds = 6;

/** A file that runs for longer than silence may last, each of its tests for less. */
function ranWith(first: string) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-reporter-'));
  const file = join(folder, 'x.test.mjs');
  writeFileSync(
    file,
    `import { test } from 'node:test';
     const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
     test('before', () => nap(50));
     test('first', async (t) => { ${first} });
     for (let n = 0; n < 8; n += 1) test('n' + n, () => nap(1_000));`,
  );
  try {
    return spawnSync(
      process.execPath,
      [
        '--test',
        '--test-isolation=none',
        '--test-reporter=./tools/test-runner/console-reporter.ts',
        '--test-reporter-destination=stdout',
        file,
      ],
      {
        cwd: repositoryRoot,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], TEST_SILENCE_SECONDS: String(silenceSeconds) },
      },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a test with mocked timers does not stop the detection of a hang', () => {
  const { status, stderr } = ranWith(
    `t.mock.timers.enable({ apis: ['setTimeout'] });
     await t.test('within', async () => { for (let n = 0; n < 50; n += 1) await new Promise(setImmediate); });`,
  );
  assert.equal(status, 0, stderr);
});

test('a process without progress is ended, and its current test is named', () => {
  const { status, stderr } = ranWith('await nap(60_000);');
  assert.equal(status, exitCodes.nothingHappens, stderr);
  assert.match(stderr, /nothing has happened for 6 s in\n.*:first/);
});
