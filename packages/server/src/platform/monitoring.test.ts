import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createMonitoring, type ReadinessCheck } from './monitoring.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

async function withMonitoring(
  checks: Record<string, ReadinessCheck>,
  use: (
    get: (path: string, method?: string) => Promise<Response>,
    drain: () => void,
  ) => Promise<void>,
) {
  const metrics = createMetrics();
  metrics.counter({ name: 'test_total', help: 'x' }).inc(3);
  const monitoring = createMonitoring({ host: '127.0.0.1', port: 0, metrics, log, checks });
  const port = await monitoring.listen();
  try {
    const get = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } });
    await use(get, monitoring.drain);
  } finally {
    await monitoring.close();
  }
}

describe('monitoring', () => {
  test('metrics, health and readiness are answered, and nothing else', async () => {
    await withMonitoring({ database: async () => true }, async (get) => {
      const metrics = await get('/metrics');
      assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
      assert.match(await metrics.text(), /^test_total 3$/m);
      assert.deepEqual(await (await get('/healthz')).json(), { status: 'ok' });
      assert.deepEqual(await (await get('/readyz?x=1')).json(), {
        status: 'ok',
        checks: { database: 'ok' },
      });
      assert.equal((await get('/other')).status, 404);
      const wrong = await get('/healthz', 'POST');
      assert.equal(wrong.status, 405);
      assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
    });
  });

  test('not ready while a check fails or throws, but alive', async () => {
    const checks = {
      database: async () => false,
      keys: async () => true,
      migrations: () => Promise.reject(new Error('x')),
    };
    await withMonitoring(checks, async (get) => {
      const ready = await get('/readyz');
      assert.equal(ready.status, 503);
      assert.deepEqual(await ready.json(), {
        status: 'unavailable',
        checks: { database: 'failed', keys: 'ok', migrations: 'failed' },
      });
      assert.equal((await get('/healthz')).status, 200);
    });
  });

  test('not ready while the process ends its work', async () => {
    await withMonitoring({}, async (get, drain) => {
      drain();
      const ready = await get('/readyz');
      assert.equal(ready.status, 503);
      assert.deepEqual(await ready.json(), { status: 'stopping', checks: {} });
    });
  });

  test('a port that is taken is an error, not a crash', async () => {
    const metrics = createMetrics();
    const options = { host: '127.0.0.1', metrics, log, checks: {} };
    const first = createMonitoring({ ...options, port: 0 });
    const port = await first.listen();
    await assert.rejects(createMonitoring({ ...options, port }).listen(), { code: 'EADDRINUSE' });
    await first.close();
  });

  test('measurements of the process are there when asked for', async () => {
    const metrics = createMetrics({ processMetrics: true });
    assert.match(await metrics.registry.metrics(), /process_resident_memory_bytes \d/);
    metrics.close();
  });
});
