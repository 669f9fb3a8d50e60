// Whole run: much is made, or waited for, before it shows.
// A shutdown under load: waiting readers get a response, and running sales get the acquirer's
// response.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tokenOf, transactionsPath, waitForLink } from '../../faults/load-during-faults.ts';
import { freePorts } from '../../support/free-ports.ts';
import { createClient } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createServerProcess } from '../../support/processes/server-process.ts';
import { until } from '../../support/wait-for-result.ts';

const acquirerTimeoutMs = 30_000;
/** The demo acquirer takes eight seconds for this amount. */
const slowAmount = 9098;
const sales = 5;

/** Asserts that /readyz reports the shutdown, while /healthz and /metrics still answer. */
async function watchStop(metricsUrl: string): Promise<void> {
  const ready = await until(async () => {
    const answer = await fetch(`${metricsUrl}/readyz`).catch(() => undefined);
    if (answer === undefined) return undefined;
    const { status } = (await answer.json()) as { status: string };
    return status === 'stopping' ? answer : undefined;
  }, 'the stop to be told of');
  assert.equal(ready.status, 503);
  for (const path of ['healthz', 'metrics']) {
    assert.equal((await fetch(`${metricsUrl}/${path}`)).status, 200, path);
  }
}

test('a stopping process completes running requests and answers waiting clients', {
  timeout: 300_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-stop-'));
  const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
  const server = createServerProcess(
    {
      SWITCHYARD_DATA_DIR: directory,
      SWITCHYARD_PORT: port ?? '',
      SWITCHYARD_DEVICE_PORT: devicePort ?? '',
      SWITCHYARD_METRICS_PORT: metricsPort ?? '',
      SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: String(acquirerTimeoutMs),
      SWITCHYARD_LOG_LEVEL: 'info',
    },
    { isFromSource: true },
  );
  try {
    await server.start();
    const { baseUrl, caFile, devices, metricsUrl } = await server.demoFacts();
    const client = createClient(baseUrl, await readFile(caFile, 'utf8'));
    const token = await tokenOf(server, client);
    await waitForLink(client, token);
    const ids = Array.from({ length: sales }, () => randomUUID());
    let answered = 0;
    const selling = ids.map((clientTransactionId) => {
      const deviceId = devices[0]?.logicalDeviceId;
      const body = keyedSale({ clientTransactionId, amount: slowAmount, deviceId });
      const sold = client.call('POST', `${transactionsPath}/process`, { token, body });
      return sold.finally(() => {
        answered += 1;
      });
    });
    await until(async () => {
      const all = ids.map((id) => client.call('GET', `${transactionsPath}/${id}`, { token }));
      return (await Promise.all(all)).every(({ status }) => status === 200) || undefined;
    }, 'the sales to be under way');
    const reading = client.call('GET', `${transactionsPath}/${ids[0]}?wait=30`, { token });
    await client.call('GET', `${transactionsPath}/${ids[0]}`, { token });
    const stopRequestedAt = performance.now();
    const stopped = server.stop();
    const watched = watchStop(metricsUrl);
    const read = await reading;
    assert.ok(
      performance.now() - stopRequestedAt < acquirerTimeoutMs / 2,
      'the reader is answered soon',
    );
    assert.equal(read.body.state, 'Received');
    await watched;
    assert.equal(answered, 0, 'told while the sales are under way');
    for (const sold of await Promise.all(selling)) {
      assert.equal(sold.status, 200, sold.text);
      assert.equal(sold.body.state, 'Captured', server.output());
    }
    assert.equal(await stopped, 0, server.output());
    assert.ok(
      performance.now() - stopRequestedAt < 2 * acquirerTimeoutMs,
      'the process is gone soon',
    );
    client.close();
  } finally {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  }
});
