// Whole run: a platform in production mode, as a process of its own.
// The attack command: its options, its verdicts, and one attack against a real start of the platform.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSeededRandom } from '../packages/server/test/support/seeded-random.ts';
import { allAttacks } from './attack/all-attacks.ts';
import { type Attack, runAttack } from './attack/attack.ts';
import { readOptions } from './attack/options.ts';
import { createPlatforms } from './attack/platforms.ts';
import { describeOutcome, summarize } from './attack/report.ts';
import { createCloseStack } from './bench/close-in-reverse-order.ts';
import { UsageError } from './parse-options.ts';

const script = fileURLToPath(new URL('./attack.ts', import.meta.url));
const items = new Set([1, 4, 7]);

function runCommand(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      // A killed command has no exit code.
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, stdout, stderr });
    });
  });
}

const outcomeOf = (run: Attack['run']) =>
  runAttack({ item: 7, name: 'a test', run }, createPlatforms(), createSeededRandom(1));

test('options are read, and wrong ones are named', () => {
  assert.deepEqual(readOptions([], items, 9), { only: [], seed: 9, list: false });
  const options = readOptions(['--only', '1,7', '--seed', '5', '--list'], items, 9);
  assert.deepEqual(options, { only: [1, 7], seed: 5, list: true });
  assert.equal(readOptions(['--help'], items, 9), undefined);
  for (const wrong of [
    ['--only', '2'],
    ['--only', ''],
    ['--seed', 'x'],
    ['--minutes', '1'],
    ['7'],
  ]) {
    assert.throws(() => readOptions(wrong, items, 9), UsageError, wrong.join(' '));
  }
});

// Spec: SET-12
test('each item from 1 to 10 has an attack', () => {
  const covered = new Set(allAttacks.map(({ item }) => item));
  for (let item = 1; item <= 10; item += 1) assert.ok(covered.has(item), `item ${item}`);
});

test('an attack is BROKEN if it succeeds, if its control fails, if it cannot run, and if it tries nothing', async () => {
  const defendedOutcome = await outcomeOf(async ({ record, requireControl }) => {
    record({ description: 'one', response: '403', isDefended: true });
    record({ description: 'two', response: '403', isDefended: true });
    requireControl('the owner can', true);
  });
  assert.deepEqual(
    [defendedOutcome.attempts, defendedOutcome.responses.get('403'), defendedOutcome.failures],
    [2, 2, []],
  );
  assert.match(describeOutcome(defendedOutcome), /2 attempts[\s\S]*2 × 403[\s\S]*held$/);
  for (const [run, reason] of [
    [
      async ({ record }) => record({ description: 'x', response: '200', isDefended: false }),
      /^x: 200$/,
    ],
    [
      async ({ record, requireControl }) => {
        record({ description: 'x', response: '403', isDefended: true });
        requireControl('the owner can', false);
      },
      /^control failed: the owner can$/,
    ],
    [async () => assert.fail('no platform'), /could not run: .*no platform/],
    [async () => {}, /^nothing was attempted$/],
  ] as const satisfies readonly (readonly [Attack['run'], RegExp])[]) {
    const outcome = await outcomeOf(run);
    assert.match(String(outcome.failures[0]), reason);
    assert.match(describeOutcome(outcome), /BROKEN/);
    assert.match(summarize([defendedOutcome, outcome]), /7 {2}held[\s\S]*7 {2}BROKEN/);
  }
});

test('a closer that fails does not stop the other closers', async () => {
  const closers = createCloseStack();
  const closed: string[] = [];
  closers.add(() => closed.push('first'));
  closers.add(() => assert.fail('does not close'));
  closers.add(async () => closed.push('last'));
  await closers.close();
  assert.deepEqual(closed, ['last', 'first']);
});

test('wrong usage ends with 2, help and list with 0', async () => {
  const wrong = await runCommand('--only', '99');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /--only holds "99"/);
  const [help, list] = [await runCommand('--help'), await runCommand('--list')];
  assert.deepEqual([help.code, list.code], [0, 0]);
  assert.match(help.stdout, /Exit codes/);
  assert.equal(list.stdout.trim().split('\n').length, allAttacks.length);
});

// Spec: SET-12
test('the command attacks stored texts, finds no weakness and ends with 0', {
  timeout: 240_000,
}, async () => {
  const { code, stdout, stderr } = await runCommand('--only', '8', '--seed', '1');
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /504 × card number: 422 field_invalid/);
  assert.match(stdout, /32 × logo: 422 field_invalid/);
  assert.match(stdout, /Everything held/);
});
