// Whole run: commands as users start them, each a process of its own.
// Guides that need only the demo, word for word, against one demo.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import {
  createServerProcess,
  type ServerProcess,
} from '../../packages/server/test/support/processes/server-process.ts';
import { repositoryRoot } from '../repository-root.ts';
import { shellBlocks } from './shell-blocks.ts';
import { runSwitchyard, waitUntilOnline } from './terminal-and-pos-processes.ts';
import { demoGuides } from './tested-guides.ts';

const limitMs = 240_000;
const outputBytesMax = 8 * 1024 * 1024;
const absent = ['curl', 'bash'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
const skip = absent.length > 0 && `there is no ${absent.join(', no ')}`;

describe('guides in the demo', { timeout: 1_200_000, skip }, () => {
  let directory: string;
  let server: ServerProcess;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-guides-'));
    const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
    server = createServerProcess({
      SWITCHYARD_DATA_DIR: join(directory, 'data'),
      SWITCHYARD_PORT: port ?? '',
      SWITCHYARD_DEVICE_PORT: devicePort ?? '',
      SWITCHYARD_METRICS_PORT: metricsPort ?? '',
      SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
    });
    await server.start();
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const environment = () => ({
    HOME: directory,
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    SWITCHYARD_DATA_DIR: join(directory, 'data'),
  });

  const read = (page: string) => readFile(join(repositoryRoot, page), 'utf8');

  /** All commands of a page; its first heading is the title. */
  function commandsOf(markdown: string): string[] {
    return shellBlocks(markdown, /^# (.+)$/m.exec(markdown)?.[1] ?? '');
  }

  /** Runs commands in a folder that looks like the top of the repository, so that their files stay out of it. */
  async function runCommands(commands: readonly string[]): Promise<string> {
    const cwd = await mkdtemp(join(directory, 'guide-'));
    for (const name of ['node_modules', 'tools', 'packages', 'package.json', 'docs', 'deploy'])
      await symlink(join(repositoryRoot, name), join(cwd, name));
    const script = ['set -euo pipefail', ...commands].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd,
      timeout: limitMs,
      maxBuffer: outputBytesMax,
      env: environment(),
    });
    return stdout;
  }

  test('every command of “Import an estate” imports the lines of the page', async () => {
    const page = await read('docs/how-to/acquirers/import-an-estate.md');
    const [, lines = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const [functions = ''] = commandsOf(
      await read('docs/how-to/acquirers/provision-a-merchant.md'),
    );
    const file = `cat > estate.jsonl <<'END'\n${lines}END`;
    const output = await runCommands([functions, file, ...commandsOf(page), 'cat answers.jsonl']);
    assert.match(output, /"bulkId":"estate-2026-03"/);
    assert.match(output, /"lines":4,"failed":0,"created":4,/);
  });

  for (const [page, { setUp, output, refusals = [], port }] of Object.entries(demoGuides)) {
    test(`every command of ${page} has the output that the page shows`, async () => {
      const commands = commandsOf(await read(page));
      if (setUp !== undefined) commands.unshift(commandsOf(await read(setUp))[0] ?? '');
      const [freePort = 0] = await freePorts(1);
      const text = await runCommands(
        commands.map((each) => (port ? each.replaceAll(port, String(freePort)) : each)),
      );
      for (const expected of output) assert.match(text, expected);
      assert.doesNotMatch(text, /^undefined$/m);
      const codes = [...text.matchAll(/\/docs\/errors\/(\w+)"/g)].map(([, code]) => code);
      assert.deepEqual(codes, refusals);
    });
  }

  // After the pages: the terminal uses serial numbers of keys that “Write a device application” needs.
  test('every command of “Pay through the Retail API” reaches a simulated terminal', async () => {
    const terminal = runSwitchyard(['--json', 'terminal', 'simulate', '--no-local'], environment());
    try {
      await waitUntilOnline(terminal);
      const page = await read('docs/how-to/merchant-developers/pay-through-the-retail-api.md');
      const output = await runCommands(commandsOf(page));
      assert.match(output, /"PaymentResponse"[\s\S]*"Result":"Success"/);
    } finally {
      await terminal.kill();
    }
  });
});
