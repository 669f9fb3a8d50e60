// The traces of the whole platform, as a collector receives them.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { createLog, createMetrics, createTracer, readSettings } from '../../src/platform/index.ts';
import { startTestConnector } from '../connector/test-connector.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { transactionsPath, waitForState } from '../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { type CollectedSpan, startTraceCollector } from '../support/trace-collector.ts';
import { until } from '../support/wait-for-result.ts';
import { receiver } from '../webhooks/webhook-receiver.ts';

const callerSpanId = '00f067aa0ba902b7';
const newTraceId = () => randomUUID().replaceAll('-', '');

describe('traces', () => {
  let setup: TestOrganization;

  before(async () => {
    setup = await createTestOrganization();
  });

  const spansWhere = (matches: (span: CollectedSpan) => boolean) =>
    setup.traces.spans.filter(matches);

  /** The span of the trace with this name, when the collector has it. */
  const spanOf = (traceId: string, name: string) =>
    until(
      () => spansWhere((span) => span.traceId === traceId && span.name === name)[0],
      () =>
        `${name}; the trace has ${spansWhere((span) => span.traceId === traceId).map((span) => span.name)}`,
      30_000,
    );

  const post = (path: string, traceId: string, body: Record<string, unknown>, flags = '01') =>
    setup.client.call('POST', `${transactionsPath}${path}`, {
      token: setup.merchant.token,
      headers: { traceparent: `00-${traceId}-${callerSpanId}-${flags}` },
      body,
    });

  const process = `POST ${transactionsPath}/process`;

  test('a sale continues the trace of its caller, down to its commits and the acquirer', async () => {
    const traceId = newTraceId();
    const { body, text } = await post('/process', traceId, keyedSale());
    assert.equal(body.state, 'Captured', text);
    const request = await spanOf(traceId, process);
    assert.deepEqual([request.kind, request.parentSpanId], ['server', callerSpanId]);
    assert.deepEqual(request.attributes, {
      'http.request.method': 'POST',
      'http.route': `${transactionsPath}/process`,
      'http.response.status_code': 200,
      'switchyard.operation_id': 'processTransaction',
      'switchyard.organization_id': setup.organizationId,
      'switchyard.transaction_id': body.transactionId,
    });
    const exchange = await spanOf(traceId, 'acquirer Sale');
    assert.deepEqual([exchange.kind, exchange.parentSpanId], ['client', request.spanId]);
    assert.deepEqual(exchange.attributes, {
      'network.protocol.name': 'iso8583',
      'switchyard.acquirer_link_id': setup.linkId,
      'switchyard.message.kind': 'Sale',
      'switchyard.outcome': 'Approved',
      'switchyard.response_code': '00',
      'switchyard.transaction_id': body.transactionId,
    });
    const children = spansWhere((span) => span.parentSpanId === request.spanId);
    // The card is new; the second commit reads what the first has inserted.
    const names = children.map(({ name }) => name).toSorted();
    assert.deepEqual(names, [
      'acquirer Sale',
      'commit payments-sale',
      'commit payments-sale',
      'commit vault',
      'commit vault',
    ]);
    for (const child of children) {
      assert.ok(child.startNano >= request.startNano - 1_000_000n);
      assert.ok(child.endNano <= request.endNano + 1_000_000n);
    }
  });

  test('the batches of sales are traces of their own, linked to the sales in them', async () => {
    const traceIds = Array.from({ length: 12 }, newTraceId);
    await Promise.all(traceIds.map((traceId) => post('/process', traceId, keyedSale())));
    for (const traceId of traceIds) await spanOf(traceId, process);
    const commits = spansWhere(
      ({ traceId, name }) => traceIds.includes(traceId) && name === 'commit payments-sale',
    );
    assert.equal(commits.length, 24);
    const batchIds = new Set<string>();
    for (const { traceId, spanId, links } of commits) {
      assert.equal(links.length, 1);
      const [link] = links;
      const batch = await spanOf(link?.traceId ?? '', 'BATCH payments-sale');
      assert.equal(batch.spanId, link?.spanId);
      assert.equal(batch.parentSpanId, undefined);
      assert.ok(batch.links.some((each) => each.traceId === traceId && each.spanId === spanId));
      assert.equal(batch.attributes['db.system.name'], 'postgresql');
      assert.ok(Number(batch.attributes['db.operation.batch.size']) >= batch.links.length);
      batchIds.add(batch.spanId);
    }
    assert.ok(batchIds.size < commits.length, 'some sales share a commit');
  });

  test('a caller that does not sample gets no span, and its trace identifier in the log', async () => {
    const traceId = newTraceId();
    await post('/process', traceId, keyedSale({ amount: 'x' }), '00');
    const lines = setup.logLines.filter((line) => line.includes(traceId));
    assert.ok(lines.length > 0);
    assert.equal(JSON.parse(lines[0] ?? '').trace_id, traceId);
    // Later spans arrive later.
    const laterTraceId = newTraceId();
    await post('/process', laterTraceId, keyedSale());
    await spanOf(laterTraceId, process);
    assert.deepEqual(
      spansWhere((span) => span.traceId === traceId),
      [],
    );
  });

  test('log lines of a request have the identifiers of its span', async () => {
    const traceId = newTraceId();
    await post('/process', traceId, keyedSale());
    const request = await spanOf(traceId, process);
    const lines = setup.logLines
      .filter((line) => line.includes(traceId))
      .map((line) => JSON.parse(line));
    const access = lines.find(({ msg }) => msg === 'request');
    assert.deepEqual([access?.trace_id, access?.span_id], [traceId, request.spanId]);
  });

  // Spec: LIST-8
  test('a webhook carries the trace of the sale on', async (t) => {
    const { url, received, stop } = await receiver();
    t.after(stop);
    const endpoint = await setup.client.call('POST', '/webhooks/v1/endpoints', {
      token: setup.acquirerToken,
      body: { url, eventTypes: ['transaction.captured'] },
    });
    assert.equal(endpoint.status, 201, endpoint.text);
    const traceId = newTraceId();
    const { body } = await post('/process', traceId, keyedSale());
    const delivery = await until(
      () => received.find((each) => each.body.includes(body.transactionId)),
      'the webhook',
    );
    const request = await spanOf(traceId, process);
    const sent = await spanOf(traceId, 'webhook POST');
    assert.equal(delivery.headers['traceparent'], `00-${traceId}-${sent.spanId}-01`);
    assert.deepEqual([sent.kind, sent.parentSpanId], ['client', request.spanId]);
    assert.deepEqual(sent.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 204,
      'switchyard.organization_id': setup.organizationId,
      'switchyard.webhook.endpoint_id': endpoint.body.endpointId,
      'switchyard.webhook.attempts': 1,
    });
    assert.ok(!delivery.body.includes(traceId), 'the body of the event has no trace');
  });

  test('the job that reverses a sale has its own trace with a link to the sale', async () => {
    const traceId = newTraceId();
    const { body, text } = await post('/process', traceId, keyedSale({ amount: 9091 }));
    assert.equal(body.state, 'Reversing', text);
    await waitForState(setup, body.transactionId, 'Reversed');
    const request = await spanOf(traceId, process);
    const exchange = await spanOf(traceId, 'acquirer Sale');
    assert.deepEqual([exchange.isError, exchange.attributes['error.type']], [true, 'Timeout']);
    const job = await until(
      () =>
        spansWhere(
          ({ name, links }) =>
            name === 'job payments.retry-operation' && links[0]?.traceId === traceId,
        )[0],
      'the span of the job',
    );
    assert.deepEqual([job.kind, job.parentSpanId], ['consumer', undefined]);
    assert.deepEqual(job.links, [{ traceId, spanId: request.spanId }]);
    const reversal = await spanOf(job.traceId, 'acquirer Reversal');
    assert.equal(reversal.parentSpanId, job.spanId);
    const commit = await spanOf(job.traceId, 'commit payments-operation');
    assert.equal(commit.parentSpanId, job.spanId);
    const events = await setup.client.call('GET', `${transactionsPath}/${body.transactionId}`, {
      token: setup.merchant.token,
    });
    assert.ok(!events.text.includes(traceId), 'the response has no trace');
  });

  test('an operation has a trace', async () => {
    const { body } = await post('/process', newTraceId(), keyedSale());
    const traceId = newTraceId();
    await post(`/${body.transactionId}/refund`, traceId, { amount: 100 });
    const request = await spanOf(traceId, `POST ${transactionsPath}/:transactionId/refund`);
    const exchange = await spanOf(traceId, 'acquirer Refund');
    assert.equal(exchange.parentSpanId, request.spanId);
    assert.equal(request.attributes['switchyard.transaction_id'], body.transactionId);
    const commits = spansWhere(
      (span) => span.traceId === traceId && span.name.startsWith('commit payments-'),
    );
    assert.equal(commits.length, 2, 'reserved and booked');
  });

  test('the identifier in a path and the query are not in a span', async () => {
    const traceId = newTraceId();
    const path = `${transactionsPath}/private-${traceId}?merchantId=${setup.merchant.merchantId}`;
    const headers = { traceparent: `00-${traceId}-${callerSpanId}-01` };
    await setup.client.call('GET', path, { token: setup.merchant.token, headers });
    const request = await spanOf(traceId, `GET ${transactionsPath}/:transactionId`);
    assert.equal(request.attributes['error.type'], 'transaction_not_found');
    assert.equal(request.isError, false);
    assert.ok(!setup.traces.bodies.join('').includes('private-'));
  });

  test('a collector that is silent or overloaded does not delay sales', async () => {
    const { traces } = setup;
    try {
      for (const answer of ['silence', { status: 503, headers: { 'retry-after': '1' } }] as const) {
        traces.respondWith(answer);
        const before = traces.headers.length;
        await post('/process', newTraceId(), keyedSale());
        await until(() => traces.headers.length > before, 'a request to the collector');
        const startedAtMs = performance.now();
        const { body, text } = await post('/process', newTraceId(), keyedSale());
        assert.equal(body.state, 'Captured', text);
        // The time-out of the collector is 10 s.
        assert.ok(performance.now() - startedAtMs < 5000);
      }
    } finally {
      traces.respondWith({ status: 200 });
    }
  });
});

test('a session of the connector is a span that continues the trace of the point of sale', async (t) => {
  const collector = await startTraceCollector();
  t.after(collector.stop);
  const settings = readSettings({
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const tracer = createTracer({ settings, log, metrics: createMetrics() });
  const connector = await startTestConnector({ tracer });
  t.after(async () => {
    await connector.close();
    await tracer?.stop();
  });
  const till = await connector.application();
  const terminal = await connector.terminal();
  const device = await connector.connect(terminal, till);
  const pos = await connector.pos(await connector.tokenOf(till));
  const traceId = newTraceId();
  const claim = { type: 'claim', requestId: 'c', tsn: terminal.tsn, posId: 'p1' };
  const claimed = await connector.ask(pos, claim);
  const { pathname } = new URL(claimed['sessionUrl']);
  const headers = { traceparent: `00-${traceId}-${callerSpanId}-01` };
  const session = await connector.open(pathname, { headers });
  session.send(Buffer.from('message'));
  await device.raw();
  assert.equal(collector.spans.length, 0);
  session.close(1000);
  await until(() => collector.spans.length > 0, 'the span of the session');
  const [span] = collector.spans;
  assert.deepEqual(
    [span?.name, span?.kind, span?.traceId],
    ['connector session', 'server', traceId],
  );
  assert.equal(span?.attributes['switchyard.websocket.close_code'], 1000);
  assert.ok(!collector.bodies.join('').includes(pathname.split('/').at(-1) ?? pathname));
});
