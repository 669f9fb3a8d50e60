// Runs the tutorial "From an empty server to the first production sale", and the same by API, with other ports and a
// database of the test.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { repositoryRoot } from '../repository-root.ts';
import { namedBlock, shellBlocks, shellEnvironment } from './shell-blocks.ts';
import { startProcess } from './terminal-and-pos-processes.ts';

const tutorial = join(repositoryRoot, 'docs/tutorials/first-production-sale.md');
const apiPage = join(repositoryRoot, 'docs/how-to/operators/set-up-by-api.md');
const apiPageReplaces = '## Set up the platform\n';
const limitMs = 400_000;
const portsOfPage = ['2525', '8583', '8443', '9021', '9464'];
export const toolsOfFirstSale = ['openssl', 'curl', 'bash'];

/** Ends the background processes also if a command fails: all of them are in the process group of the shell. */
const stopAtExit = `trap 'trap "" TERM; kill -TERM 0; wait' EXIT`;

type FirstSaleSetting = {
  /** The home directory of the reader, which is empty. */
  readonly home: string;
  readonly databaseUrl: string;
  /** Where the commands run: a clone by default. */
  readonly folder?: string;
};

export type FirstSaleOptions = FirstSaleSetting & {
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

const readBlocks = (text: string) =>
  shellBlocks(text, 'From an empty server to the first production sale');

async function prepareHome({ home, databaseUrl }: FirstSaleSetting): Promise<void> {
  await mkdir(join(home, 'switchyard'));
  await writeFile(join(home, 'switchyard/database-url'), databaseUrl);
}

const makePorts = async () => (await freePorts(portsOfPage.length)).map(String);

const withPorts = (commands: string, ports: readonly string[]) =>
  commands.replaceAll(
    new RegExp(portsOfPage.join('|'), 'g'),
    (port) => ports[portsOfPage.indexOf(port)] ?? '',
  );

/** Returns the lines that the commands print. */
async function runCommands(
  { home, folder }: FirstSaleSetting,
  commands: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<{ log: string; lines: string[] }> {
  const script = ['set -euo pipefail', stopAtExit, commands].join('\n');
  const environment = shellEnvironment(home, {
    // The machine may be busy, so the platform must not refuse sales as overloaded.
    SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: '10000',
    ...variables,
  });
  const shell = startProcess('bash', ['-c', script], environment, folder);
  const limit = setTimeout(() => void shell.kill(), limitMs);
  const exitCode = await shell.ended();
  clearTimeout(limit);
  const log = await readFile(join(home, 'switchyard/switchyard.log'), 'utf8').catch(String);
  assert.equal(exitCode, 0, `${shell.stdout()}${shell.stderr()}\n${log.slice(-4000)}`);
  return { log, lines: shell.stdout().trimEnd().split('\n') };
}

/** Checks the output of each command against the page. */
export async function runFirstProductionSale(options: FirstSaleOptions): Promise<FirstSale> {
  const { replacements = {}, commandsAfterSale = '', variables } = options;
  const text = await readFile(tutorial, 'utf8');
  assert.match(namedBlock(text, 'database'), /CREATE DATABASE switchyard/);
  await prepareHome(options);
  const ports = await makePorts();
  const blocks = readBlocks(text).map((block) => withPorts(block, ports));
  assert.ok(blocks.length >= 10, 'the page has its commands');
  let commands = [...blocks.slice(0, -1), commandsAfterSale, ...blocks.slice(-1)].join('\n');
  for (const [command, replacement] of Object.entries(replacements)) {
    assert.ok(commands.includes(command), `the page has no command ${command}`);
    commands = commands.replaceAll(command, replacement);
  }
  const { log, lines } = await runCommands(options, commands, variables);
  const steps = /```text\n(operator: created\n[^`]*)```/.exec(text)?.[1]?.trimEnd().split('\n');
  assert.deepEqual(
    lines.filter((line) => line.endsWith(': created')),
    steps,
  );
  // The build of the portal also prints a line.
  const expected = ['10', 'Available', 'Captured', '1250', '1250'];
  const start = lines.indexOf('10');
  assert.deepEqual(lines.slice(start, start + expected.length), expected);
  return { log, additionalOutput: lines.slice(start + expected.length) };
}

/** The tutorial up to the set-up, then the page "Set up an acquirer by API". */
export async function runSetUpByApi(setting: FirstSaleSetting): Promise<void> {
  const [preparation = ''] = (await readFile(tutorial, 'utf8')).split(apiPageReplaces);
  await prepareHome(setting);
  const ports = await makePorts();
  const blocks = [
    ...readBlocks(preparation),
    ...shellBlocks(await readFile(apiPage, 'utf8'), 'Set up an acquirer by API'),
  ];
  const { lines } = await runCommands(setting, withPorts(blocks.join('\n'), ports));
  const expected = [
    'Received',
    'Approving',
    '10',
    'Enabled',
    `localhost:${ports[1]}`,
    'Approved',
    'Enabled',
    'PendingApproval',
    'Enabled',
    'device_not_claimed',
    'Unclaimed',
    'Claimed',
  ];
  assert.deepEqual(lines.slice(-expected.length), expected);
}
