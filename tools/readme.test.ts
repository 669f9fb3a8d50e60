// The README's quickstart, word for word, against a platform started as `npm start` does.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts, serverProcess } from '../packages/server/test/server-process.ts';
import { shellBlocks } from './quickstart.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const limitMs = 60_000;

test('every command of the quickstart does what the README shows', {
  timeout: 120_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-quickstart-'));
  const dataDir = join(directory, 'data');
  const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
  const server = serverProcess({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: port ?? '',
    SWITCHYARD_DEVICE_PORT: devicePort ?? '',
    SWITCHYARD_METRICS_PORT: metricsPort ?? '',
    SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
  });
  try {
    await server.start();
    const blocks = shellBlocks(await readFile(join(root, 'README.md'), 'utf8'));
    assert.ok(blocks.length >= 8, 'the README has its quickstart');
    const script = ['set -euo pipefail', ...blocks].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: root,
      timeout: limitMs,
      env: {
        HOME: directory,
        PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
        SWITCHYARD_DATA_DIR: dataDir,
      },
    });
    const states = [...stdout.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    for (const state of ['Captured', 'Authorized', 'PartiallyCaptured', 'PartiallyRefunded']) {
      assert.ok(states.includes(state), `${state} in ${stdout}`);
    }
    assert.match(stdout, /"code":"AD","display":"Andorra"/);
    assert.match(stdout, /transaction\.captured/);
    assert.match(stdout, /72\.50 EUR +25\.00 EUR +47\.50 EUR/);
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
