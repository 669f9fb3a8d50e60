import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import { exitCodes } from './console-reporter.ts';
import { type Results, resultsVariable } from './results-file-reporter.ts';
import { faultsOfProcess } from './run-test-files.ts';

const one = 'packages/one/a.test.ts';
const other = 'packages/one/b.test.ts';

function written(results: Partial<Results>): string {
  const ran = { [join(repositoryRoot, one)]: 2, [join(repositoryRoot, other)]: 1 };
  const empty = { failures: [], slowest: [] };
  return JSON.stringify({ files: ran, tests: 3, totals: { pass: 3 }, ...empty, ...results });
}

describe('faults of a test process', () => {
  test('a process whose files all ran and that ended well has its results', () => {
    const run = faultsOfProcess(written({}), [one, other], { code: 0 });
    assert.deepEqual(run, { tests: 3, totals: { pass: 3 }, faults: [], slowest: [], notBegun: 0 });
  });

  test('a file without a test is a fault, although the process ended well', () => {
    const { faults } = faultsOfProcess(written({}), [one, other, 'tools/c.test.ts'], { code: 0 });
    assert.deepEqual(faults, [{ where: 'tools/c.test.ts', text: 'no test of this file ran' }]);
  });

  test('a process that ended well before the counts of its runner is a fault', () => {
    const { faults } = faultsOfProcess(written({ totals: {} }), [one, other], { code: 0 });
    assert.deepEqual(faults, [
      {
        where: `${other} (file 2 of its process)`,
        text: 'the process ended before its last test: something called process.exit',
      },
    ]);
  });

  test('each failure is reported with its location', () => {
    const failures = [
      { file: join(repositoryRoot, one), line: 7, name: 'adds up', message: '3 is not 4' },
    ];
    const { faults } = faultsOfProcess(written({ failures }), [one, other], { code: 1 });
    assert.deepEqual(faults, [{ where: `${one}:7`, text: 'adds up\n    3 is not 4' }]);
  });

  test('an unexplained exit code is a fault', () => {
    const { faults } = faultsOfProcess(written({}), [one, other], { code: 3 });
    assert.match(String(faults[0]?.text), /ended with exit code 3/);
  });

  for (const [code, says] of [
    [exitCodes.handlesLeftOpen, /a handle was left open/],
    [exitCodes.nothingHappens, /neither ended nor failed/],
    [9, /ended with exit code 9, and no test failed/],
  ] as const) {
    test(`without results: ${says.source}`, () => {
      const { faults } = faultsOfProcess('', [one, other], { code });
      assert.match(String(faults[0]?.text), says);
      assert.equal(faults[0]?.where, `${other} (file 2 of its process)`);
    });
  }

  test('failures before a hang are reported with the hang', () => {
    const failures = [
      { file: join(repositoryRoot, one), line: 7, name: 'adds up', message: '3 is not 4' },
    ];
    for (const code of [exitCodes.handlesLeftOpen, exitCodes.nothingHappens]) {
      const { faults } = faultsOfProcess(written({ failures, totals: {} }), [one, other], { code });
      assert.deepEqual(
        faults.map(({ where }) => where),
        [`${one}:7`, `${other} (file 2 of its process)`],
      );
      assert.match(String(faults[1]?.text), /hung/);
    }
  });

  test('a process that the runner ended reports the reason', () => {
    const { faults } = faultsOfProcess('', [one], { code: 1, stopped: 'stopped: too long' });
    assert.equal(faults[0]?.text, 'stopped: too long');
  });
});

describe('a process of test files', () => {
  test('a file that cannot be imported and a failing hook are faults, and all others run', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'switchyard-runner-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const contents = {
      a: `import { after, before, beforeEach, test } from 'node:test';
          beforeEach(() => { globalThis.begun = (globalThis.begun ?? 0) + 1; });
          globalThis.closed = false;
          let ready = false;
          before(async () => { await new Promise(setImmediate); ready = true; });
          after(() => { globalThis.closed = true; throw new Error('a cannot close'); });
          test('a', () => { if (!ready) throw new Error('before did not run'); });`,
      b: `throw new Error('b is broken');`,
      c: `import { after, test } from 'node:test';
          after(() => console.log('c is closed'));
          test('c', () => {
            if (globalThis.closed) throw new Error('a has ended the process');
            if (globalThis.begun !== 1) throw new Error('hooks of a ran ' + globalThis.begun + ' times');
          });`,
      d: `export {};`,
    };
    const files = Object.entries(contents).map(([name, text]) => {
      const file = join(folder, `${name}.test.mjs`);
      writeFileSync(file, text);
      return relative(repositoryRoot, file);
    });
    const resultsFile = join(folder, 'results.json');
    const reporter = './tools/test-runner/results-file-reporter.ts';
    const child = fork('tools/test-runner/test-process.ts', {
      cwd: repositoryRoot,
      execArgv: [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout'],
      stdio: 'pipe',
      env: { PATH: process.env['PATH'], [resultsVariable]: resultsFile },
    });
    const waiting = [...files];
    child.on('message', () => child.send(waiting.shift() ?? ''));
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        output += chunk;
      });
    const [code] = await once(child, 'close');
    assert.equal(code, 1);
    assert.match(
      output,
      /after hook at the top of \S+a\.test\.mjs .*failed: Error: a cannot close/,
    );
    assert.match(output, /c is closed/);
    const run = faultsOfProcess(readFileSync(resultsFile, 'utf8'), files, { code });
    assert.match(run.faults[0]?.text ?? '', /is imported\n {4}b is broken/);
    assert.deepEqual(
      run.faults.slice(1).map(({ where }) => where),
      [files[1], files[3]],
    );
    assert.equal(run.totals['pass'], 2);
  });
});
