// Whole run: much is made, or waited for, before it shows.
// A shutdown under load: waiting readers get a response, and running sales get the acquirer's
// response.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tokenOf, transactionsPath, waitForLink } from '../../faults/load-during-faults.ts';
import { createClient } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createDemoServer } from '../../support/processes/demo-server.ts';
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

// Spec: SET-7
test('a stopping process completes running requests and answers waiting clients', {
  timeout: 300_000,
}, async () => {
  const settings = {
    SWITCHYARD_ACQUIRER_TIMEOUT_MS: String(acquirerTimeoutMs),
    SWITCHYARD_LOG_LEVEL: 'info',
  };
  const { server, close } = await createDemoServer('stop', settings, { isFromSource: true });
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
    await close();
  }
});
