// Whole run: commands as users start them, each a process of its own.
// "Take a QR payment", word for word, against the demo and its reference provider.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { createServerProcess } from '../../packages/server/test/support/processes/server-process.ts';
import { shellBlocks } from './quickstart.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const limitMs = 150_000;
const absent = ['curl', 'bash'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);

test('every command of “Take a QR payment” has the output that the page shows', {
  timeout: 300_000,
  skip: absent.length > 0 && `there is no ${absent.join(', no ')}`,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-qr-'));
  const dataDir = join(directory, 'data');
  const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
  const server = createServerProcess({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: port ?? '',
    SWITCHYARD_DEVICE_PORT: devicePort ?? '',
    SWITCHYARD_METRICS_PORT: metricsPort ?? '',
    SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
  });
  try {
    await server.start();
    const page = await readFile(
      join(root, 'docs/how-to/merchant-developers/take-a-qr-payment.md'),
      'utf8',
    );
    const blocks = shellBlocks(page, 'Take a QR payment');
    assert.ok(blocks.length >= 6, 'the page has its commands');
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', ['set -euo pipefail', ...blocks].join('\n')],
      {
        cwd: directory,
        timeout: limitMs,
        env: {
          HOME: directory,
          PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
          SWITCHYARD_DATA_DIR: dataDir,
        },
      },
    );
    const [status, type, ...rest] = stdout.trimEnd().split('\n');
    assert.deepEqual([status, type], ['Pending', 'image/png']);
    const ended = rest.slice(-4);
    assert.deepEqual(ended, ['PartiallyRefunded', 'Refunded', 'Completed', 'Cancelled']);
    const events = rest.slice(0, -4).filter((line) => line !== '');
    assert.deepEqual(events, ['qr.scanned', 'qr.completed']);
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
