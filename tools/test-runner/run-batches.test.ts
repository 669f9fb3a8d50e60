import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { exitCodes } from './console-reporter.ts';
import type { Results } from './results-file-reporter.ts';
import { faultsOfProcess } from './run-batches.ts';
import { root } from './static-checks.ts';

const one = 'packages/one/a.test.ts';
const other = 'packages/one/b.test.ts';

function written(results: Partial<Results>): string {
  const ran = { [join(root, one)]: 2, [join(root, other)]: 1 };
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
    assert.deepEqual(faults, [{ where: 'tools/c.test.ts', text: 'not one test of this file ran' }]);
  });

  test('each failure is reported with its location', () => {
    const failures = [{ file: join(root, one), line: 7, name: 'adds up', message: '3 is not 4' }];
    const { faults } = faultsOfProcess(written({ failures }), [one, other], { code: 1 });
    assert.deepEqual(faults, [{ where: `${one}:7`, text: 'adds up\n    3 is not 4' }]);
  });

  test('an unexplained exit code is a fault', () => {
    const { faults } = faultsOfProcess(written({}), [one, other], { code: 3 });
    assert.match(String(faults[0]?.text), /ended with 3/);
  });

  for (const [code, says] of [
    [exitCodes.handlesLeftOpen, /a handle was left open/],
    [exitCodes.nothingHappens, /neither ended nor failed/],
    [9, /ended with 9, and no test says why/],
  ] as const) {
    test(`without results: ${says.source}`, () => {
      const { faults } = faultsOfProcess('', [one, other], { code });
      assert.match(String(faults[0]?.text), says);
      assert.equal(faults[0]?.where, `${one} (2 files)`);
    });
  }

  test('failures before a hang are reported with the hang', () => {
    const failures = [{ file: join(root, one), line: 7, name: 'adds up', message: '3 is not 4' }];
    for (const code of [exitCodes.handlesLeftOpen, exitCodes.nothingHappens]) {
      const { faults } = faultsOfProcess(written({ failures, totals: {} }), [one, other], { code });
      assert.deepEqual(
        faults.map(({ where }) => where),
        [`${one}:7`, `${one} (2 files)`],
      );
      assert.match(String(faults[1]?.text), /hung/);
    }
  });

  test('a process that the runner ended reports the reason', () => {
    const { faults } = faultsOfProcess('', [one], { code: 1, stopped: 'stopped: too long' });
    assert.equal(faults[0]?.text, 'stopped: too long');
  });
});
