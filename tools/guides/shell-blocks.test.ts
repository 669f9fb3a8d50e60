import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';
import { namedBlock, shellBlocks } from './shell-blocks.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');
const readme = read('README.md');
const firstSale = shellBlocks(readme, 'A first sale');
const firstPayment = shellBlocks(read('docs/tutorials/first-payment.md'), 'Take the first payment');

test('shell blocks are read in order, from the named section', () => {
  const fence = '```';
  const markdown = [
    '# A',
    `${fence}sh`,
    'before',
    fence,
    '## Quickstart',
    `${fence}sh`,
    'one',
    fence,
    '### Deeper',
    `${fence}json`,
    '{}',
    fence,
    `${fence}sh`,
    'two',
    '# three',
    fence,
    '## After',
    `${fence}sh`,
    'after',
    fence,
  ].join('\n');
  assert.deepEqual(shellBlocks(markdown, 'Quickstart'), ['one\n', 'two\n# three\n']);
  assert.throws(() => shellBlocks('# A', 'Quickstart'), /no heading/);
});

test('the README has at most 120 lines, and both commands before everything else', () => {
  assert.ok(readme.trimEnd().split('\n').length <= 120);
  const [title, , commands] = readme.split('\n\n');
  assert.match(title ?? '', /^# \w+$/);
  assert.equal(commands, '```\nnpm start\nnpm test\n```');
});

test('the first payment contains every kind of call', () => {
  const script = firstPayment.join('\n');
  const calls = [
    '/token',
    '/resources/v1/countries',
    '/transactions/process',
    '"Deferred"',
    '/capture',
    '/refund',
    '/allowedoperations',
    '/cancel',
    'ledger',
    '4111111111111111',
  ];
  for (const call of calls) assert.ok(script.includes(call), `no call of ${call}`);
});

test('a block is found by its name only', () => {
  const fence = '```';
  const markdown = ['# Quickstart', `${fence}sh till`, 'sell', fence, `${fence}sh`, 'one', fence];
  assert.equal(namedBlock(markdown.join('\n'), 'till'), 'sell\n');
  assert.deepEqual(shellBlocks(markdown.join('\n'), 'Quickstart'), ['one\n']);
  assert.throws(() => namedBlock(markdown.join('\n'), 'terminal'), /no block is named/);
});

test('the commands are valid bash', () => {
  const script = [...firstSale, ...firstPayment].join('\n');
  const checked = spawnSync('bash', ['-n', '-c', script]);
  assert.equal(String(checked.stderr), '');
  assert.equal(checked.status, 0);
});
