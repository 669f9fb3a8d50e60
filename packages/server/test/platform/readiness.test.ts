// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// With an unavailable database the process stays ready and answers 503, so that a load balancer
// cuts no connection.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tokenOf, transactionsPath, waitForLink } from '../faults/load-during-faults.ts';
import { startPostgresRelay } from '../support/database/postgres-tcp-relay.ts';
import { testDatabase, testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { createClient } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createDemoServer } from '../support/processes/demo-server.ts';
import { until } from '../support/wait-for-result.ts';

type Ready = {
  readonly status: string;
  readonly checks: Record<string, string>;
  readonly dependencies: Record<string, string>;
  readonly links: readonly { readonly available: boolean }[];
};

/** The default probe timeout of load balancers and Kubernetes. */
const probeLimitMs = 1000;

// Spec: SET-6 SET-28
test('a process without its database stays ready, and answers 503 with Retry-After', {
  timeout: 300_000,
}, async () => {
  const url = new URL(await testDatabaseCopyUrl());
  const first = await startPostgresRelay(url.href);
  const { port: databasePort } = first;
  const { server, close } = await createDemoServer('ready', {
    SWITCHYARD_INSTANCE_NAME: 'pay-1',
    SWITCHYARD_DATABASE_URL: `postgresql://switchyard@127.0.0.1:${databasePort}${url.pathname}?sslmode=disable`,
  });
  let current = first;
  try {
    await server.start();
    const { baseUrl, caFile, devices, metricsUrl } = await server.demoFacts();
    const client = createClient(baseUrl, await readFile(caFile, 'utf8'));
    const token = await tokenOf(server, client);
    await waitForLink(client, token);
    const sell = () => {
      const clientTransactionId = randomUUID();
      const deviceId = devices[0]?.logicalDeviceId;
      const body = keyedSale({ clientTransactionId, amount: 1000, deviceId });
      return client.call('POST', `${transactionsPath}/process`, { token, body });
    };
    assert.equal((await sell()).status, 200);
    const readiness = async () => {
      const signal = AbortSignal.timeout(probeLimitMs);
      const answer = await fetch(`${metricsUrl}/readyz`, { signal });
      assert.equal(answer.status, 200);
      return (await answer.json()) as Ready;
    };
    const names = await (await testDatabase()).query(
      'SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = $1',
      [url.pathname.slice(1)],
    );
    assert.deepEqual(names, [{ name: 'switchyard pay-1 all 0.1.0' }]);
    const up = await readiness();
    assert.deepEqual(up.checks, { migrations: 'ok', keys: 'ok' });
    assert.deepEqual(up.dependencies, { database: 'ok' });
    assert.ok(up.links.some(({ available }) => available));

    await first.close();
    for (const isSilent of [false, true]) {
      if (isSilent) current = await startPostgresRelay(undefined, databasePort);
      await until(
        async () => (await readiness()).dependencies['database'] === 'failed',
        'the loss',
      );
      assert.equal((await readiness()).status, 'ok');
      const refused = await sell();
      assert.equal(refused.status, 503, refused.text);
      assert.equal(refused.body.code, 'database_unavailable');
      assert.ok(Number(refused.headers['retry-after']) >= 1);
    }
    await current.close();
    current = await startPostgresRelay(url.href, databasePort);
    await until(async () => (await readiness()).dependencies['database'] === 'ok', 'the database');
    await until(async () => (await sell()).status === 200, 'sales after all');
    client.close();
  } finally {
    await server.kill();
    await current.close();
    await close();
  }
});
