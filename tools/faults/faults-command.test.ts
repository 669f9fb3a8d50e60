// The command of the fault tests: its options, and the order of its rounds.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { UsageError } from '../parse-options.ts';
import { repositoryRoot } from '../repository-root.ts';
import { emptyRun } from '../test-runner/run-test-files.ts';
import { readFaultOptions } from './fault-options.ts';
import { runRounds, testNameOf } from './fault-test-rounds.ts';

test('options are parsed, and invalid ones are named', () => {
  assert.deepEqual(readFaultOptions([], 7), { minutes: 30, seed: 7, only: [], list: false });
  assert.deepEqual(readFaultOptions(['--minutes', '5', '--seed', '9', 'killed'], 7), {
    minutes: 5,
    seed: 9,
    only: ['killed'],
    list: false,
  });
  assert.equal(readFaultOptions(['--help'], 7), undefined);
  for (const wrong of [
    ['--minutes', '0'],
    ['--minutes', 'x'],
    ['--seed', '-1'],
    ['--hours', '1'],
  ]) {
    assert.throws(() => readFaultOptions(wrong, 7), UsageError, wrong.join(' '));
  }
});

const files = ['a.test.ts', 'b.test.ts', 'c.test.ts'];
const well = emptyRun();

test('each test runs at least once, even if the time is short', async () => {
  const ran: string[] = [];
  const { faults, runs } = await runRounds({
    files,
    seed: 5,
    endsAt: () => 0,
    now: () => 1,
    print: () => {},
    run: async (file, seed) => {
      ran.push(`${testNameOf(file)} ${seed}`);
      return well;
    },
  });
  assert.deepEqual(ran, ['a 5', 'b 5', 'c 5']);
  assert.deepEqual([faults.length, runs.get('a')], [0, 1]);
});

test('rounds continue with new seeds until the time is over, also after a fault', async () => {
  let minute = 0;
  const lines: string[] = [];
  const { faults, runs } = await runRounds({
    files,
    seed: 10,
    endsAt: () => 8,
    now: () => minute,
    print: (line) => lines.push(line),
    run: async (file, seed) => {
      minute += 1;
      const isBad = file === 'b.test.ts' && seed === 11;
      return isBad ? { ...well, faults: [{ where: 'b.test.ts:1', text: 'lost' }] } : well;
    },
  });
  assert.deepEqual(faults, [{ where: 'b.test.ts:1', text: 'lost' }]);
  assert.ok((runs.get('a') ?? 0) >= 2);
  assert.ok(
    lines.some(
      (line) =>
        line === 'again: TEST_SIZE=full TEST_SILENCE_SECONDS=1500 TEST_SEED=11 npm test -- b',
    ),
  );
});

test('the guide has a row for each fault test, and no other', () => {
  const command = [join(repositoryRoot, 'tools/faults/faults-command.ts'), '--list'];
  const listed = execFileSync(process.execPath, command, { encoding: 'utf8' }).trim().split('\n');
  const guide = join(repositoryRoot, 'docs/how-to/security-officers/run-fault-and-attack-tests.md');
  const [, table = ''] = readFileSync(guide, 'utf8').split('| Test | Fault |\n');
  const rows = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `([\w-]+)` \|/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(rows.toSorted(), listed.toSorted());
});
