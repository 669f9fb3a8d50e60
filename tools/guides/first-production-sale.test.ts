// Whole run: commands as users start them, each a process of its own.
// "From an empty server to the first production sale", and the same by API, word for word, with other ports and a
// database of the test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { repositoryRoot } from '../repository-root.ts';
import { namedBlock, shellBlocks } from './shell-blocks.ts';
import { startProcess } from './terminal-and-pos-processes.ts';

const tutorial = join(repositoryRoot, 'docs/tutorials/first-production-sale.md');
const apiPage = join(repositoryRoot, 'docs/how-to/operators/set-up-by-api.md');
const apiPageStart = '## Set up the platform';
const limitMs = 400_000;
const portsOfPage = ['2525', '8583', '8443', '9021', '9464'];
const absent = ['openssl', 'curl', 'bash'].filter(
  (tool) => spawnSync(tool, [tool === 'openssl' ? 'version' : '--version']).status !== 0,
);

/** Ends the background processes also if a command fails: all of them are in the process group of the shell. */
const stopAtExit = `trap 'trap "" TERM; kill -TERM 0; wait' EXIT`;

/** Runs the blocks in one shell. Returns the lines that it prints. */
async function runBlocks(blocks: readonly string[], ports: readonly string[]): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-first-sale-'));
  try {
    const settings = join(directory, 'switchyard');
    await mkdir(settings);
    await writeFile(join(settings, 'database-url'), await testSchemaUrl());
    const withOwnPorts = (commands: string) =>
      commands.replaceAll(
        new RegExp(portsOfPage.join('|'), 'g'),
        (port) => ports[portsOfPage.indexOf(port)] ?? '',
      );
    const script = ['set -euo pipefail', stopAtExit, ...blocks.map(withOwnPorts)].join('\n');
    const shell = startProcess('bash', ['-c', script], {
      HOME: directory,
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      // The machine may be busy, so the platform must not refuse sales as overloaded.
      SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000',
    });
    const limit = setTimeout(() => void shell.kill(), limitMs);
    const exitCode = await shell.ended();
    clearTimeout(limit);
    const log = await readFile(join(settings, 'switchyard.log'), 'utf8').catch(String);
    assert.equal(exitCode, 0, `${shell.stdout()}${shell.stderr()}\n${log.slice(-4000)}`);
    return shell.stdout().trimEnd().split('\n');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const options = {
  timeout: 500_000,
  skip: absent.length > 0 && `there is no ${absent.join(', no ')}`,
};
const makePorts = async () => (await freePorts(portsOfPage.length)).map(String);
// The build of the portal also prints a line.
const lastLines = (lines: readonly string[], expected: readonly string[]) =>
  lines.slice(-expected.length);

test(
  'every command from an empty server to the first production sale has the output that the page shows',
  options,
  async () => {
    const text = await readFile(tutorial, 'utf8');
    assert.match(namedBlock(text, 'database'), /CREATE DATABASE switchyard/);
    const blocks = shellBlocks(text, 'From an empty server to the first production sale');
    assert.ok(blocks.length >= 10, 'the page has its commands');
    const lines = await runBlocks(blocks, await makePorts());
    const expected = ['10', 'Available', 'Captured', '1250', '1250'];
    assert.deepEqual(lastLines(lines, expected), expected);
    assert.deepEqual(
      lines.filter((line) => line.endsWith(': created')),
      /```text\n(operator: created\n[^`]*)```/.exec(text)?.[1]?.trimEnd().split('\n'),
    );
  },
);

test(
  'every command that sets up an acquirer by API has the output that the page shows',
  options,
  async () => {
    const [preparation = ''] = (await readFile(tutorial, 'utf8')).split(apiPageStart);
    const blocks = [
      ...shellBlocks(preparation, 'From an empty server to the first production sale'),
      ...shellBlocks(await readFile(apiPage, 'utf8'), 'Set up an acquirer by API'),
    ];
    const ports = await makePorts();
    const expected = [
      'Received',
      'Approving',
      '10',
      'Enabled',
      `127.0.0.1:${ports[1]}`,
      'Approved',
      'Enabled',
      'PendingApproval',
      'Enabled',
      'device_not_claimed',
      'Unclaimed',
      'Claimed',
    ];
    assert.deepEqual(lastLines(await runBlocks(blocks, ports), expected), expected);
  },
);
