// Runs the tutorial "From an empty server to the first production sale", with other ports and a database of the test.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { repositoryRoot } from '../repository-root.ts';
import { namedBlock, shellBlocks, shellEnvironment } from './shell-blocks.ts';
import { startProcess } from './terminal-and-pos-processes.ts';

const page = join(repositoryRoot, 'docs/tutorials/first-production-sale.md');
const limitMs = 400_000;
const portsOfPage = ['2525', '8583', '8443', '9021', '9464'];
export const toolsOfFirstSale = ['openssl', 'curl', 'bash'];

/** Ends the background processes also if a command fails: all of them are in the process group of the shell. */
const stopAtExit = `trap 'trap "" TERM; kill -TERM 0; wait' EXIT`;

export type FirstSaleOptions = {
  /** The home directory of the reader, which is empty. */
  readonly home: string;
  readonly databaseUrl: string;
  /** Where the commands run: a clone by default. */
  readonly folder?: string;
  /** Commands of the page, and what runs in their place. */
  readonly replacements?: Readonly<Record<string, string>>;
  /** Commands that run after the sale, while the platform runs. */
  readonly commandsAfterSale?: string;
  readonly variables?: Readonly<Record<string, string>>;
};

export type FirstSale = {
  /** The log of the platform. */
  readonly log: string;
  /** What the additional commands printed. */
  readonly additionalOutput: readonly string[];
};

/** Checks the output of each command against the page. */
export async function runFirstProductionSale(options: FirstSaleOptions): Promise<FirstSale> {
  const { home, databaseUrl, folder, replacements = {}, commandsAfterSale = '' } = options;
  const text = await readFile(page, 'utf8');
  assert.match(namedBlock(text, 'database'), /CREATE DATABASE switchyard/);
  const settings = join(home, 'switchyard');
  await mkdir(settings);
  await writeFile(join(settings, 'database-url'), databaseUrl);
  const ports = (await freePorts(portsOfPage.length)).map(String);
  const withOwnPorts = (commands: string) =>
    commands.replaceAll(
      new RegExp(portsOfPage.join('|'), 'g'),
      (port) => ports[portsOfPage.indexOf(port)] ?? '',
    );
  const blocks = shellBlocks(text, 'From an empty server to the first production sale');
  assert.ok(blocks.length >= 15, 'the page has its commands');
  const ownBlocks = blocks.map(withOwnPorts);
  let commands = [...ownBlocks.slice(0, -1), commandsAfterSale, ...ownBlocks.slice(-1)].join('\n');
  for (const [command, replacement] of Object.entries(replacements)) {
    assert.ok(commands.includes(command), `the page has no command ${command}`);
    commands = commands.replaceAll(command, replacement);
  }
  const script = ['set -euo pipefail', stopAtExit, commands].join('\n');
  const environment = shellEnvironment(home, {
    // The machine may be busy, so the platform must not refuse sales as overloaded.
    SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000',
    ...options.variables,
  });
  const shell = startProcess('bash', ['-c', script], environment, folder);
  const limit = setTimeout(() => void shell.kill(), limitMs);
  const exitCode = await shell.ended();
  clearTimeout(limit);
  const log = await readFile(join(settings, 'switchyard.log'), 'utf8').catch(String);
  assert.equal(exitCode, 0, `${shell.stdout()}${shell.stderr()}\n${log.slice(-4000)}`);
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
    'Captured',
    '1250',
    '1250',
  ];
  // The build of the portal also prints a line.
  const lines = shell.stdout().trimEnd().split('\n');
  const start = lines.indexOf('Received');
  assert.deepEqual(lines.slice(start, start + expected.length), expected);
  return { log, additionalOutput: lines.slice(start + expected.length) };
}
