import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../test-runner/static-checks.ts';
import { namedBlock, shellBlocks } from './shell-blocks.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');

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
    'three',
    fence,
    '## After',
    `${fence}sh`,
    'after',
    fence,
  ].join('\n');
  assert.deepEqual(shellBlocks(markdown), ['one\n', 'two\nthree\n']);
  assert.throws(() => shellBlocks('# A', 'Quickstart'), /no heading/);
});

test('the README begins with one sentence and exactly two commands', () => {
  const [title, sentence, commands] = readme.split('\n\n');
  assert.match(title ?? '', /^# \w+$/);
  assert.match(sentence ?? '', /^[A-Z][^.]*\.$/);
  assert.equal(commands, '```\nnpm start\nnpm test\n```');
});

test('the quickstart contains every kind of call', () => {
  const script = shellBlocks(readme).join('\n');
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
  assert.deepEqual(shellBlocks(markdown.join('\n')), ['one\n']);
  assert.throws(() => namedBlock(markdown.join('\n'), 'terminal'), /no block is named/);
});

test('the quickstart is valid bash', () => {
  const checked = spawnSync('bash', ['-n', '-c', shellBlocks(readme).join('\n')]);
  assert.equal(String(checked.stderr), '');
  assert.equal(checked.status, 0);
});
