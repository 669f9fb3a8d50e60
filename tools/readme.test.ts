// What the README shows, word for word, against a platform started as `npm start` does.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eventually } from '../packages/server/test/eventually.ts';
import {
  freePorts,
  type ServerProcess,
  serverProcess,
} from '../packages/server/test/server-process.ts';
import { namedBlock, shellBlocks } from './quickstart.ts';
import { type Json, started } from './till.ts';
import { tillCases } from './till-cases.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const limitMs = 60_000;

describe('the README at a started platform', { concurrency: false, timeout: 240_000 }, () => {
  let directory: string;
  let server: ServerProcess;
  let readme: string;
  let env: Record<string, string>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-readme-'));
    readme = await readFile(join(root, 'README.md'), 'utf8');
    const dataDir = join(directory, 'data');
    const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
    server = serverProcess({
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: port ?? '',
      SWITCHYARD_DEVICE_PORT: devicePort ?? '',
      SWITCHYARD_METRICS_PORT: metricsPort ?? '',
      SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
    });
    env = {
      HOME: directory,
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      SWITCHYARD_DATA_DIR: dataDir,
    };
    await server.start();
  });
  after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** What the merchant of the demo sees of a transaction. */
  async function transactionOf(id: string): Promise<Json> {
    const client = await server.client();
    const { userDomainId, applications } = await server.facts();
    const { clientId = '', clientSecret = '' } = applications['merchant'] ?? {};
    const token = await client.token(userDomainId, clientId, clientSecret);
    return (await client.call('GET', `/payment/v1/transactions/${id}`, { token })).body;
  }

  test('every command of the quickstart does what it shows', async () => {
    const blocks = shellBlocks(readme);
    assert.ok(blocks.length >= 8, 'the README has its quickstart');
    const script = ['set -euo pipefail', ...blocks].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      ...{ cwd: root, timeout: limitMs, env },
    });
    const states = [...stdout.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    for (const state of ['Captured', 'Authorized', 'PartiallyCaptured', 'PartiallyRefunded']) {
      assert.ok(states.includes(state), `${state} in ${stdout}`);
    }
    assert.match(stdout, /"code":"AD","display":"Andorra"/);
    assert.match(stdout, /transaction\.captured/);
    assert.match(stdout, /72\.50 EUR +25\.00 EUR +47\.50 EUR/);
  });

  test('its two commands are a terminal and a till, and 12.50 are paid', async () => {
    const [simulate, sell] = ['terminal', 'till'].map((name) => namedBlock(readme, name).trim());
    assert.equal(simulate, 'npx switchyard terminal simulate');
    assert.equal(sell, 'npx switchyard pos sale 12.50');
    // As they stand there; a shell hands signals to what it becomes.
    const terminal = started('bash', ['-c', `exec ${simulate}`], env);
    try {
      await eventually('the terminal is online', () => {
        if (terminal.child.exitCode !== null) throw new Error(terminal.stderr());
        return terminal.stdout().includes('cloud: Connected');
      });
      const till = started('bash', ['-c', `exec ${sell}`], env);
      assert.equal(await till.ended(), 0, till.stdout() + till.stderr());
      const [, amount] = /^Paid (12\.50 EUR)\.$/m.exec(till.stdout()) ?? [];
      assert.equal(amount, '12.50 EUR', till.stdout());
      const [, id = ''] = /^Transaction +(\S+)$/m.exec(till.stdout()) ?? [];
      const { state, capturedAmount, entryMode } = await transactionOf(id);
      assert.deepEqual([state, capturedAmount, entryMode], ['Captured', 1250, 'ContactChip']);
      for (const line of ['Insert, tap or swipe', 'PIN', 'Approved']) {
        assert.ok(till.stderr().includes(line), `${line} in ${till.stderr()}`);
      }
    } finally {
      terminal.interrupt();
      await terminal.ended();
    }
    assert.match(terminal.stderr(), /The terminal has stopped/);
  });

  tillCases(() => ({ env, dataDir: join(directory, 'data') }));
});
