import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countLines, fillProofs } from './spec-coverage.ts';

const head = '| Id | Line | Where | Proof |\n|---|---|---|---|\n';
const document = `${head}| PAY-1 | a \\| b | \`x.ts\` | stale |\n| PAY-2 | c | | definition |\n| PAY-3 | d | | |\n`;
const tagged = (path: string, ...titles: string[]) => ({
  path,
  text: titles
    .map((title) => `  // ${'Spec'}: PAY-1\n  test(\n    ${title}, () => {});`)
    .join('\n'),
});

test('each line names its tests by file and title; a line without a test is open', () => {
  const tests = [
    tagged('packages/server/src/a.test.ts', `'it\\'s |'`, '`$' + '{count} sales`'),
    tagged('packages/server/test/b.test.ts', `"two"`),
  ];
  const filled = fillProofs(document, tests);
  assert.deepEqual(filled.split('\n').slice(2), [
    "| PAY-1 | a \\| b | `x.ts` | `a.test.ts` › “it's \\|”, “… sales”; `packages/server/test/b.test.ts` › “two” |",
    '| PAY-2 | c |  | definition |',
    '| PAY-3 | d |  | not yet |',
    '',
  ]);
  assert.deepEqual(countLines(filled), { proved: 2, unproved: 1 });
});

test('an identifier that two lines have, or no line has, is an error', () => {
  assert.throws(() => fillProofs(document + document, []), /two lines with the identifier PAY-1/);
  assert.throws(
    () => fillProofs(head, [tagged('a.test.ts', `'one'`)]),
    /a\.test\.ts: .* no line PAY-1\./,
  );
});
