import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/free-ports.ts';
import { createLog, pause } from '../platform/index.ts';
import { type AcquirerSimulatorOptions, startAcquirerSimulator } from './acquirer-simulator.ts';
import { SimulatorStartError } from './supervised-process.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function until(
  condition: () => boolean | Promise<boolean>,
  description: string,
): Promise<void> {
  const limit = Date.now() + 60_000;
  while (!(await condition())) {
    assert.ok(Date.now() < limit, description);
    await pause(25);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the acquirer host simulator', () => {
  let dataDir: string;
  let now = 0;
  const options = (facts: Partial<AcquirerSimulatorOptions> = {}): AcquirerSimulatorOptions => ({
    port: 0,
    ledgerDir: join(dataDir, 'acquirer'),
    acquirerTimeoutMs: 10_000,
    clock: { now: () => Date.now() },
    log,
    ...facts,
  });

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-simulator-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  // Spec: SET-3
  test('accepts connections after its start, restarts on the same port after a kill, and ends when it is stopped', async () => {
    const [port = 0] = await freePorts(1);
    const simulator = await startAcquirerSimulator(options({ port }));
    try {
      assert.ok(await accepts(simulator.port));
      const first = simulator.pid() ?? 0;
      process.kill(first, 'SIGKILL');
      await until(async () => simulator.pid() !== first && (await accepts(simulator.port)), 'back');
    } finally {
      await simulator.stop();
    }
    assert.ok(!(await accepts(simulator.port)));
    await simulator.stop();
  });

  test('leads a process group of its own, which Ctrl-C on ours does not reach', async () => {
    const simulator = await startAcquirerSimulator(options());
    try {
      assert.ok(isAlive(-(simulator.pid() ?? 0)));
    } finally {
      await simulator.stop();
    }
  });

  test('adopts nothing: a port in use is named', async () => {
    const otherServer = createServer().listen(0, '127.0.0.1');
    await once(otherServer, 'listening');
    const address = otherServer.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    // The clock moves in large steps, so that the waiting time is over after the first attempt.
    const clock = { now: () => (now += 60_000) };
    try {
      await assert.rejects(startAcquirerSimulator(options({ port, clock })), (error) => {
        assert.ok(error instanceof SimulatorStartError);
        assert.match(error.message, new RegExp(`Port ${port} is in use by another program`));
        assert.match(error.message, /SWITCHYARD_ACQUIRER_PORT/);
        return true;
      });
    } finally {
      otherServer.close();
    }
  });

  test('ends when its parent is killed', async () => {
    const module = fileURLToPath(new URL('acquirer-simulator.ts', import.meta.url));
    const platform = fileURLToPath(new URL('../platform/index.ts', import.meta.url));
    const script = `
      import { startAcquirerSimulator } from ${JSON.stringify(module)};
      import { createLog, systemClock } from ${JSON.stringify(platform)};
      const simulator = await startAcquirerSimulator({
        port: 0, ledgerDir: ${JSON.stringify(join(dataDir, 'orphan'))}, acquirerTimeoutMs: 10000,
        clock: systemClock, log: createLog({ logLevel: 'silent', instanceName: 'test' }),
      });
      console.log(simulator.pid());`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    assert.ok(pid > 0 && isAlive(pid));
    parent.kill('SIGKILL');
    await until(() => !isAlive(pid), 'the simulator outlived its parent');
  });
});
