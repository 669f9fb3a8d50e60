import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { maxAcceptedBytes, sendEndlessBody } from '../../../test/support/send-endless-body.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createMonitoringListener, type MonitoringListenerOptions } from './monitoring-listener.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

async function withMonitoring(
  needs: Partial<Pick<MonitoringListenerOptions, 'checks' | 'dependencies' | 'links'>>,
  use: (
    get: (path: string, method?: string) => Promise<Response>,
    drain: () => void,
    port: number,
  ) => Promise<void>,
) {
  const metrics = createMetrics();
  metrics.counter({ name: 'test_total', help: 'x' }).inc(3);
  const options = { host: '127.0.0.1', port: 0, metrics, log };
  const monitoring = createMonitoringListener({
    ...options,
    checks: {},
    dependencies: {},
    ...needs,
  });
  const port = await monitoring.listen();
  try {
    const get = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } });
    await use(get, monitoring.drain, port);
  } finally {
    await monitoring.close();
  }
}

describe('monitoring', () => {
  test('a gauge that waits for a silent database does not delay the metrics', async () => {
    const metrics = createMetrics({ collectLimitMs: 20 });
    const silent = metrics.gauge({
      name: 'silent',
      help: 'x',
      collect: () => new Promise<void>(() => {}),
    });
    silent.set(7);
    metrics.gauge({
      name: 'database_up',
      help: 'x',
      async collect() {
        this.set(1);
      },
    });
    const text = await metrics.registry.metrics();
    assert.match(text, /^silent 7$/m);
    assert.match(text, /^database_up 1$/m);
  });

  // Spec: SET-5
  test('the listener serves metrics, health and readiness, and nothing else', async () => {
    await withMonitoring({ checks: { keys: () => true } }, async (get) => {
      const metrics = await get('/metrics');
      assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
      const text = await metrics.text();
      assert.match(text, /^test_total 3$/m);
      // A clone has no commit of a release.
      assert.match(
        text,
        /^switchyard_build_info\{version="0\.1\.0",commit="",node="24\.[\d.]+"\} 1$/m,
      );
      const health = await (await get('/healthz')).json();
      assert.deepEqual(health, { status: 'ok', version: '0.1.0' });
      assert.deepEqual(await (await get('/readyz?x=1')).json(), {
        status: 'ok',
        checks: { keys: 'ok' },
        dependencies: {},
      });
      assert.equal((await get('/other')).status, 404);
      const wrong = await get('/healthz', 'POST');
      assert.equal(wrong.status, 405);
      assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
    });
  });

  // Spec: SET-6
  test('a process without its keys is alive but not ready', async () => {
    const checks = { keys: () => false, migrations: () => true };
    await withMonitoring({ checks }, async (get) => {
      const ready = await get('/readyz');
      assert.equal(ready.status, 503);
      assert.deepEqual(await ready.json(), {
        status: 'unavailable',
        checks: { keys: 'failed', migrations: 'ok' },
        dependencies: {},
      });
      assert.equal((await get('/healthz')).status, 200);
    });
  });

  // Spec: SET-6
  test('a process is ready within a second while the database, NATS and a link fail or do not respond', async () => {
    const dependencies = {
      database: () => new Promise<boolean>(() => {}),
      nats: () => Promise.reject(new Error('x')),
      other: async () => true,
    };
    const links = [
      { linkId: 'l-1', name: 'bank', available: false },
      { linkId: 'l-2', name: 'other bank', available: true },
    ];
    await withMonitoring({ dependencies: dependencies, links: () => links }, async (get) => {
      const beganMs = performance.now();
      const ready = await get('/readyz');
      assert.equal(ready.status, 200);
      assert.deepEqual(await ready.json(), {
        status: 'ok',
        checks: {},
        dependencies: { database: 'failed', nats: 'failed', other: 'ok' },
        links,
      });
      assert.ok(performance.now() - beganMs < 1000, 'probes wait no longer');
    });
  });

  test('a stopping process is not ready', async () => {
    await withMonitoring({}, async (get, drain) => {
      drain();
      const ready = await get('/readyz');
      assert.equal(ready.status, 503);
      assert.deepEqual(await ready.json(), { status: 'stopping', checks: {}, dependencies: {} });
    });
  });

  test('the listener closes the connection of a body that is longer than it reads', async () => {
    await withMonitoring({}, async (_get, _drain, port) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {});
      await once(socket, 'connect');
      let response = '';
      socket.on('data', (chunk) => {
        response += chunk;
      });
      socket.write(`POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 ** 40}\r\n\r\n`);
      const { acceptedBytes, isClosedByServer } = await sendEndlessBody(socket);
      assert.match(response, /^HTTP\/1\.1 405 /);
      assert.ok(isClosedByServer && acceptedBytes < maxAcceptedBytes, `${acceptedBytes} bytes`);
    });
  });

  test('a port in use is an error, not a crash', async () => {
    const metrics = createMetrics();
    const options = { host: '127.0.0.1', metrics, log, checks: {}, dependencies: {} };
    const first = createMonitoringListener({ ...options, port: 0 });
    const port = await first.listen();
    await assert.rejects(createMonitoringListener({ ...options, port }).listen(), {
      code: 'EADDRINUSE',
    });
    await first.close();
  });

  test('process metrics are included on request', async () => {
    const metrics = createMetrics({ processMetrics: true });
    assert.match(await metrics.registry.metrics(), /process_resident_memory_bytes \d/);
    metrics.close();
  });
});
