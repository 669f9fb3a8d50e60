import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetricsUrl } from './demo-json.ts';
import { type DemoDeps, startDemo } from './index.ts';

test('a second copy on the directory of a living one is told so, and touches nothing', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-second-'));
  const health = createServer((_request, response) => response.end('{"status":"ok"}'));
  await new Promise<void>((resolve) => health.listen(0, '127.0.0.1', resolve));
  const { port } = health.address() as { port: number };
  try {
    const metricsUrl = `http://127.0.0.1:${port}`;
    await writeFile(join(dataDir, 'demo.json'), JSON.stringify({ metricsUrl }));
    const deps = { settings: { dataDir, acquirerPort: 0 } } as unknown as DemoDeps;
    await assert.rejects(startDemo(deps), /is running on .* already/);
    const write = (processId: number) =>
      writeFile(join(dataDir, 'demo.json'), JSON.stringify({ metricsUrl, processId }));
    await write(process.pid);
    await assert.rejects(startDemo(deps), /is running on .* already/);
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    await write(ended);
    assert.equal(readMetricsUrl(dataDir), undefined, 'another demo has the port by now');
  } finally {
    health.closeAllConnections();
    await new Promise((resolve) => health.close(resolve));
    await rm(dataDir, { recursive: true, force: true });
  }
});
