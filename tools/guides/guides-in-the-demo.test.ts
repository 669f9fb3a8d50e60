// Whole run: commands as users start them, each a process of its own.
// Guides for a merchant, word for word, against one demo.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
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

const limitMs = 120_000;
const absent = ['curl', 'bash'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
const skip = absent.length > 0 && `there is no ${absent.join(', no ')}`;

describe('guides in the demo', { timeout: 300_000, skip }, () => {
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

  async function runGuide(name: string, title: string, cwd = repositoryRoot): Promise<string[]> {
    const page = await readFile(
      join(repositoryRoot, 'docs/how-to/merchant-developers', name),
      'utf8',
    );
    const script = ['set -euo pipefail', ...shellBlocks(page, title)].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd,
      timeout: limitMs,
      env: environment(),
    });
    return stdout.trimEnd().split('\n');
  }

  test('every command of “Develop for a merchant” has the output that the page shows', async () => {
    const lines = await runGuide('develop-for-a-merchant.md', 'Develop for a merchant');
    assert.deepEqual(lines.slice(0, 3), ['PendingApproval', 'Enabled', 'Captured']);
    assert.match(lines.join('\n'), /transaction\.captured +[\da-f-]{36} +#\d+\nMerchant$/);
  });

  test('every command of “Pay through the Retail API” reaches a simulated terminal', async () => {
    const terminal = runSwitchyard(['--json', 'terminal', 'simulate', '--no-local'], environment());
    try {
      await waitUntilOnline(terminal);
      const lines = await runGuide(
        'pay-through-the-retail-api.md',
        'Pay through the Retail API',
        directory,
      );
      assert.match(lines.join('\n'), /"PaymentResponse"[\s\S]*"Result":"Success"/);
    } finally {
      await terminal.kill();
    }
  });
});
