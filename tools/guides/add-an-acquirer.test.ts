// Whole run: commands as users start them, each a process of its own.
// "Add an acquirer", word for word: a table, a key in two halves, a link, a sale, and a lost answer.
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
const page = join(root, 'docs/tutorials/connect-an-acquirer-host.md');
const limitMs = 200_000;
const absent = ['openssl', 'curl', 'bash'].filter(
  (tool) => spawnSync(tool, [tool === 'openssl' ? 'version' : '--version']).status !== 0,
);

test('every command in the guide for a new acquirer does what the page says', {
  timeout: 300_000,
  skip: absent.length > 0 && `there is no ${absent.join(', no ')}`,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-toy-bank-'));
  const dataDir = join(directory, 'data');
  const ports = (await freePorts(5)).map(String);
  const [port = '', devicePort = '', metricsPort = '', acquirerPort = '', toyPort = ''] = ports;
  const server = createServerProcess({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: port,
    SWITCHYARD_DEVICE_PORT: devicePort,
    SWITCHYARD_METRICS_PORT: metricsPort,
    SWITCHYARD_ACQUIRER_PORT: acquirerPort,
    SWITCHYARD_ACQUIRER_TIMEOUT_MS: '5000',
  });
  const shell = async (blocks: readonly string[]): Promise<string> => {
    const script = ['set -euo pipefail', ...blocks].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: root,
      timeout: limitMs,
      env: {
        HOME: directory,
        PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
        SWITCHYARD_DATA_DIR: dataDir,
        TOY_BANK_PORT: toyPort,
      },
    });
    return stdout;
  };
  try {
    const blocks = shellBlocks(await readFile(page, 'utf8'), 'Connect an acquirer host');
    const started = blocks.findIndex((block) => block.includes('acquirer-host serve'));
    assert.ok(started > 0 && blocks.length >= 8, 'the page has its commands');
    // The story is one shell; `npm start` comes in the middle of it, in another window.
    const before = [...blocks.slice(0, started), 'echo "$whole" > "$data/whole"'];
    const output = await shell(before);
    assert.match(output, /toy-bank can be spoken\.\nsale {6}0\d{3}6000010000/);
    assert.match(output, /toy-bank-mac is complete: check value [0-9A-F]{6}/);
    await server.start();
    const laterOutput = await shell([
      blocks[0] ?? '',
      'whole=$(cat "$data/whole")',
      ...blocks.slice(started),
    ]);
    const lines = laterOutput
      .trimEnd()
      .split('\n')
      .map((line) => line.trim());
    assert.match(lines[0] ?? '', /^listening on 127\.0\.0\.1:\d+$/);
    assert.deepEqual(lines.slice(1), [
      'TOYS00000000001',
      'available: true,',
      'Captured',
      'Reversed',
      '1250 1250 kept',
      '9091 0 4021',
      // The page has removed its entities.
      'simulator',
    ]);
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
