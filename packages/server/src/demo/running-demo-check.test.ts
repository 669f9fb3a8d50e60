import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readProcessIdentity } from '../platform/index.ts';
import { readLastStart } from './demo-json.ts';
import { type DemoDeps, startDemo } from './index.ts';

test('a second demo does not start in the data directory of a running demo', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-second-'));
  const health = createServer((_request, response) => response.end('{"status":"ok"}'));
  await new Promise<void>((resolve) => health.listen(0, '127.0.0.1', resolve));
  const { port } = health.address() as { port: number };
  try {
    const metricsUrl = `http://127.0.0.1:${port}`;
    await writeFile(join(dataDir, 'demo.json'), JSON.stringify({ metricsUrl }));
    const deps = { settings: { dataDir, acquirerPort: 0 } } as unknown as DemoDeps;
    await assert.rejects(startDemo(deps), /already runs with the data directory/);
    const write = (processMark: string) =>
      writeFile(join(dataDir, 'demo.json'), JSON.stringify({ metricsUrl, processMark }));
    await write(readProcessIdentity(process.pid));
    await assert.rejects(startDemo(deps), /already runs with the data directory/);
  } finally {
    health.closeAllConnections();
    await new Promise((resolve) => health.close(resolve));
    await rm(dataDir, { recursive: true, force: true });
  }
});

// Spec: SET-7
test('a demo that is still stopping counts as running, although it no longer answers health checks', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-second-'));
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  try {
    await once(other, 'spawn');
    // No process listens on this port.
    const facts = {
      metricsUrl: 'http://127.0.0.1:9',
      processMark: readProcessIdentity(other.pid ?? 0),
    };
    await writeFile(join(dataDir, 'demo.json'), JSON.stringify(facts));
    const deps = { settings: { dataDir, acquirerPort: 0 } } as unknown as DemoDeps;
    await assert.rejects(startDemo(deps), /already runs with the data directory/);
    const exited = once(other, 'exit');
    other.kill('SIGKILL');
    await exited;
    assert.equal(readLastStart(dataDir).isRunning, false, 'another demo may have its port');
  } finally {
    other.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
});
