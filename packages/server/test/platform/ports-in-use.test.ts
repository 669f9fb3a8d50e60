// Whole run: commands as users start them, each a process of its own.
// The server reports a port in use before it builds, migrates or seeds anything.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../support/free-ports.ts';
import { inheritedEnvironment } from '../support/processes/server-process.ts';

const start = fileURLToPath(new URL('../../../../tools/run.cjs', import.meta.url));
const settings = [
  'SWITCHYARD_PORT',
  'SWITCHYARD_DEVICE_PORT',
  'SWITCHYARD_METRICS_PORT',
  'SWITCHYARD_ACQUIRER_PORT',
] as const;

function listenAt(port: number, host: string): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => server.listen(port, host, () => resolve(server)));
}

function run(env: Record<string, string>): Promise<{ status: number | null; output: string }> {
  const child: ChildProcess = spawn(process.execPath, [start, 'start'], {
    env: { ...inheritedEnvironment(), SWITCHYARD_QR_PROVIDER_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, output })));
}

describe('ports that the server cannot listen at', () => {
  let directory: string;
  let ports: string[];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-ports-'));
    ports = (await freePorts(4)).map(String);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const variables = (extra: Record<string, string> = {}) => ({
    SWITCHYARD_DATA_DIR: join(directory, 'data'),
    ...Object.fromEntries(settings.map((name, index) => [name, ports[index] ?? ''])),
    ...extra,
  });

  /**
   * Only the demo keys exist, which the settings create; there is no database, certificate or data.
   */
  async function expectNothingMade() {
    const made = await readdir(join(directory, 'data'));
    assert.deepEqual(made.sort(), ['platform.key', 'vault.key']);
  }

  // Spec: SET-29
  test('all ports in use are reported with their settings, and nothing is created', async () => {
    const occupiedPorts = await Promise.all(
      ports.map((port) => listenAt(Number(port), '127.0.0.1')),
    );
    try {
      const { status, output } = await run(variables());
      assert.equal(status, 1, output);
      const lines = settings.map(
        (name, index) =>
          `Port ${ports[index]} is in use by another program. Stop that program, or set ${name} to a free port.\n`,
      );
      assert.equal(output, lines.join(''), 'no line of a portal that is built');
      await expectNothingMade();
    } finally {
      for (const server of occupiedPorts) server.close();
    }
  });

  test('the server reports a host address that does not belong to the machine', async () => {
    const { status, output } = await run(variables({ SWITCHYARD_HOST: '192.0.2.1' }));
    assert.equal(status, 1, output);
    assert.match(
      output,
      /^SWITCHYARD_HOST is 192\.0\.2\.1, which is not an address of this machine/,
    );
    await expectNothingMade();
  });

  test('the same port for two listeners is a settings error', async () => {
    const { status, output } = await run(variables({ SWITCHYARD_DEVICE_PORT: ports[0] ?? '' }));
    assert.equal(status, 78, output);
    assert.match(
      output,
      /SWITCHYARD_DEVICE_PORT and SWITCHYARD_PORT are both \d+; use different ports/,
    );
    await expectNothingMade();
  });
});
