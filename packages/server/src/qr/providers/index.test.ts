// Tests the provider client against a local server: its requests and its handling of faults.
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { CreateQrPayment, defined, providerCallText } from '@switchyard/contract';
import { Webhook } from 'standardwebhooks';
import { Value } from 'typebox/value';
import {
  createLog,
  createMetrics,
  createOutgoingCalls,
  formatWebhookSecret,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import { createProviders } from './index.ts';
import { selectService } from './select-service.ts';

const serviceId = '0198c0de-0000-7000-8000-0000000000aa';
const organizationId = '0198c0de-0000-7000-8000-0000000000bb';
const transactionId = '0198c0de-0000-7000-8000-0000000000cc';
const deviceId = '0198c0de-0000-7000-8000-0000000000dd';
const key = Buffer.alloc(32, 7);
const older = Buffer.alloc(32, 8);

type SentRequest = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

async function serving(answer: RequestListener) {
  const requests: SentRequest[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, headers, body: Buffer.concat(parts).toString() });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    requests,
    url: `http://127.0.0.1:${port}/spi/?tenant=a`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const calls = createOutgoingCalls({ allowsLoopback: true });
after(() => calls.close());

const contract = { currencies: ['EUR'], acquirerMerchantId: '4711' };
const current = {
  organizationName: 'Demo Acquirer',
  merchant: {
    merchantId: systemIdGenerator.uuid(),
    name: 'Bakery',
    externalId: 'B-1',
    mcc: '5462',
    country: 'DE',
    timeZone: 'Europe/Berlin',
    status: 'Enabled',
  },
  store: {
    storeId: systemIdGenerator.uuid(),
    name: 'Station',
    timeZone: 'Europe/Berlin',
    address: { line1: 'Platz 1', city: 'Bonn' },
  },
  device: { deviceId, name: 'till 1' },
  contracts: [contract],
};

function opening(spiUrl: string | undefined, more: { at?: () => number; timeoutMs?: number } = {}) {
  const lines: string[] = [];
  const metrics = createMetrics();
  const log = createLog(
    { logLevel: 'info', instanceName: 'test' },
    { write: (line: string) => lines.push(line) },
  );
  const clock = more.at === undefined ? systemClock : { now: more.at };
  const { timeoutMs } = more;
  const service = {
    serviceId,
    providerId: organizationId,
    release: 1,
    status: 'Published' as const,
    ...defined({ spiUrl }),
    signingKeys: () => ({ keys: [key, older], privateKeys: [] }),
  };
  const providers = createProviders({
    calls: {
      call: (url, call) => calls.call(url, timeoutMs === undefined ? call : { ...call, timeoutMs }),
    },
    catalog: {
      listActiveServices: async () => [],
      findProviderEndpoint: async (id) => (id === serviceId ? service : undefined),
    },
    provisioning: { resolveWithoutAcquirer: async () => current as never },
    clock,
    dueClock: clock,
    ids: systemIdGenerator,
    log,
    metrics,
    baseUrl: 'https://platform.example',
    circuitLimits: { pauseFirstMs: 1000, pauseMaxMs: 1000 },
  });
  after(() => providers.stop());
  return { providers, lines, metrics };
}

const paymentRef = { organizationId, serviceId, transactionId };
const payment = {
  organizationId,
  serviceId,
  transactionId,
  clientTransactionId: 'c-1',
  paymentType: 'demopay',
  paymentScenario: 'merchantscan' as const,
  scannedPaymentId: '4111111111111111',
  amount: 1234,
  currency: 'EUR',
  createdAt: new Date('2026-03-01T12:00:00Z'),
  expiresAt: new Date('2026-03-01T12:03:00Z'),
};

const answering =
  (body: object, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

// Spec: EVT-2
test('a payment goes out enriched and signed, as the public package verifies it', async () => {
  const server = await serving(answering({ providerTransactionId: 'P-1', status: 'Pending' }));
  const { providers, lines } = opening(server.url);
  try {
    const merchant = await providers.merchantDetails(organizationId, { deviceId, currency: 'EUR' });
    const answer = await providers.create(merchant, payment);
    assert.equal(answer.outcome, 'Answered');
    const [sent] = server.requests;
    assert.ok(sent !== undefined);
    assert.equal(`${sent.method} ${sent.url}`, 'POST /spi/qr-payments?tenant=a');
    for (const each of [key, older]) {
      const read = new Webhook(formatWebhookSecret(each)).verify(
        sent.body,
        sent.headers as Record<string, string>,
      );
      assert.ok(Value.Check(CreateQrPayment, read), JSON.stringify(read));
      const { merchantId, acquirerId, terminalId, mcc, country } = read.merchant;
      assert.deepEqual(
        { merchantId, acquirerId, terminalId, mcc, country },
        {
          merchantId: current.merchant.merchantId,
          acquirerId: organizationId,
          terminalId: deviceId,
          mcc: '5462',
          country: 'DE',
        },
      );
      assert.equal(read.merchant.acquirerMerchantId, '4711');
      assert.equal(
        read.eventsUrl,
        `https://platform.example/qrcode-payment/v1/transactions/${transactionId}/events`,
      );
    }
    assert.doesNotMatch(lines.join(''), /4111/);
  } finally {
    await server.stop();
  }
});

test('the merchant details omit the acquirer’s merchant number when its contract does not include the currency', async () => {
  const { providers } = opening(undefined);
  const merchant = await providers.merchantDetails(organizationId, { deviceId, currency: 'JPY' });
  assert.equal(merchant.acquirerMerchantId, undefined);
  assert.equal(merchant.externalId, 'B-1');
});

// Spec: QRPROV-4
test('a call without a body signs its address', async () => {
  const server = await serving(answering({ providerTransactionId: 'P-1', status: 'Scanned' }));
  const { providers } = opening(server.url);
  try {
    const answer = await providers.status({ ...paymentRef, providerTransactionId: 'P-1' });
    assert.ok(answer.outcome === 'Answered' && answer.status === 'Scanned');
    const [sent] = server.requests;
    assert.equal(sent?.url, `/spi/qr-payments/${transactionId}?tenant=a`);
    assert.equal(sent?.body, '');
    const text = providerCallText('GET', `/qr-payments/${transactionId}`);
    const webhook = new Webhook(formatWebhookSecret(key));
    const headers = sent?.headers as Record<string, string>;
    assert.deepEqual(webhook.verify(text, headers), JSON.parse(text));
    const other = providerCallText('GET', '/qr-payments/another');
    assert.throws(() => webhook.verify(other, headers));
  } finally {
    await server.stop();
  }
});

// Spec: QRPROV-3
test('cancels and refunds go to their addresses, with our name of the payment', async () => {
  const refundId = systemIdGenerator.uuid();
  const server = await serving((request, response) => {
    const isRefund = request.url?.includes('refunds') === true;
    const body = isRefund ? { refundId, status: 'Completed' } : { status: 'Cancelled' };
    answering(body)(request, response);
  });
  const { providers } = opening(server.url);
  try {
    const refund = { refundId, amount: 400, currency: 'EUR' };
    assert.equal((await providers.cancel(paymentRef, 'Unknown')).outcome, 'Answered');
    assert.equal((await providers.refund(paymentRef, refund)).outcome, 'Answered');
    assert.equal((await providers.refundStatus(paymentRef, refundId)).outcome, 'Answered');
    const path = `/spi/qr-payments/${transactionId}`;
    assert.deepEqual(
      server.requests.map(({ method, url }) => `${method} ${url}`),
      [
        `POST ${path}/cancel?tenant=a`,
        `POST ${path}/refunds?tenant=a`,
        `GET ${path}/refunds/${refundId}?tenant=a`,
      ],
    );
    const [cancel, asked] = server.requests.map(({ body }) =>
      body === '' ? {} : JSON.parse(body),
    );
    assert.deepEqual([cancel.platformTransactionId, cancel.reason], [transactionId, 'Unknown']);
    assert.deepEqual(asked.amount, { amount: 400, currency: 'EUR' });
  } finally {
    await server.stop();
  }
});

test('a provider that hangs, drips, floods or breaks off leaves the outcome unknown', async () => {
  const faults: [RequestListener, string][] = [
    [() => undefined, 'timed_out'],
    [
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
      'timed_out',
    ],
    [(_request, response) => response.end('x'.repeat(70_000)), 'answer_too_large'],
    [(request) => request.socket.destroy(), 'unreachable'],
    [(_request, response) => response.writeHead(307, { location: '/x' }).end(), 'redirected'],
    [(_request, response) => response.writeHead(500).end('{}'), 'server_fault'],
    [(_request, response) => response.end('not JSON'), 'answer_unreadable'],
  ];
  for (const [fault, named] of faults) {
    const server = await serving(fault);
    const { providers } = opening(server.url, { timeoutMs: named === 'timed_out' ? 2000 : 20_000 });
    try {
      const answer = await providers.status(paymentRef);
      assert.deepEqual(answer, { outcome: 'Unknown', fault: named });
    } finally {
      await server.stop();
    }
  }
});

test('a POST that the provider read before it closed a reused connection is not sent again', async () => {
  const server = await serving((request, response) => {
    const isStatus = request.method === 'GET';
    if (isStatus) answering({ providerTransactionId: 'P-1', status: 'Pending' })(request, response);
    else request.socket.destroy();
  });
  const { providers } = opening(server.url);
  try {
    const merchant = await providers.merchantDetails(organizationId, { deviceId, currency: 'EUR' });
    const refund = { refundId: systemIdGenerator.uuid(), amount: 400, currency: 'EUR' };
    for (const send of [
      () => providers.create(merchant, payment),
      () => providers.cancel(paymentRef, 'Merchant'),
      () => providers.refund(paymentRef, refund),
    ]) {
      // The answer to the status request leaves an open connection for the POST.
      assert.equal((await providers.status(paymentRef)).outcome, 'Answered');
      assert.deepEqual(await send(), { outcome: 'Unknown', fault: 'unreachable' });
    }
    const methods = server.requests.map(({ method }) => method);
    assert.deepEqual(methods, ['GET', 'POST', 'GET', 'POST', 'GET', 'POST']);
  } finally {
    await server.stop();
  }
});

test('a service without an address, an unknown one and a private address are not called', async () => {
  const nowhere = await opening(undefined).providers.status(paymentRef);
  assert.deepEqual(nowhere, { outcome: 'NotSent', reason: 'no_address' });
  const other = { ...paymentRef, serviceId: systemIdGenerator.uuid() };
  const unknown = await opening('http://127.0.0.1:1/').providers.status(other);
  assert.deepEqual(unknown, { outcome: 'NotSent', reason: 'no_service' });
  const inside = await opening('https://10.0.0.1/').providers.status(paymentRef);
  assert.deepEqual(inside, { outcome: 'NotSent', reason: 'address_refused' });
  const closed = await opening('http://127.0.0.1:1/').providers.status(paymentRef);
  assert.deepEqual(closed, { outcome: 'NotSent', reason: 'unreachable' });
});

// Spec: QRPROV-7
test('a provider that fails is left alone, looked at, and called again', async () => {
  let isWell = false;
  const server = await serving((request, response) => {
    if (!isWell) response.writeHead(503).end();
    else if (request.url?.includes('health')) answering({ status: 'Up' })(request, response);
    else answering({ providerTransactionId: 'P-1', status: 'Pending' })(request, response);
  });
  const { providers, metrics } = opening(server.url);
  const readBreakerMetric = async () =>
    (await metrics.registry.metrics()).match(/^switchyard_provider_circuit_breaker_state.*$/m);
  try {
    assert.equal(await readBreakerMetric(), null);
    for (let time = 0; time < 5; time += 1) await providers.status(paymentRef);
    const refused = await providers.status(paymentRef);
    assert.ok(refused.outcome === 'NotSent' && refused.reason === 'circuit_open');
    const sent = server.requests.filter(({ url }) => url.includes('/qr-payments')).length;
    assert.equal(sent, 5);
    assert.equal(providers.listFailing()[0]?.serviceId, serviceId);
    assert.match(
      String(await readBreakerMetric()),
      new RegExp(`service="${serviceId}"} (?:1|0\\.5)`),
    );
    isWell = true;
    const deadline = performance.now() + 30_000;
    while (performance.now() < deadline) {
      if ((await providers.status(paymentRef)).outcome === 'Answered') break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(providers.listFailing().length, 0);
    assert.equal(await readBreakerMetric(), null);
    const text = await metrics.registry.metrics();
    assert.match(text, /switchyard_provider_calls_total\{call="status",outcome="NotSent"\} [1-9]/);
    assert.match(text, /switchyard_provider_calls_total\{call="status",outcome="Unknown"\} 5/);
  } finally {
    await server.stop();
  }
});

test('a provider that hangs holds so many calls and no more, and those that end payments go through', async () => {
  const waiting: (() => void)[] = [];
  const server = await serving((request, response) => {
    waiting.push(() =>
      answering({ providerTransactionId: 'P', status: 'Pending' })(request, response),
    );
  });
  const { providers } = opening(server.url);
  try {
    const merchant = await providers.merchantDetails(organizationId, { deviceId, currency: 'EUR' });
    const creates = Array.from({ length: 193 }, () => providers.create(merchant, payment));
    const last = await creates[192];
    assert.deepEqual(last, { outcome: 'NotSent', reason: 'busy', retryAfterMs: 1000 });
    const status = providers.status(paymentRef);
    while (waiting.length < 193) await new Promise((resolve) => setImmediate(resolve));
    for (const answer of waiting) answer();
    assert.equal((await status).outcome, 'Answered');
    const outcomes = await Promise.all(creates.slice(0, 192));
    assert.ok(outcomes.every(({ outcome }) => outcome === 'Answered'));
  } finally {
    await server.stop();
  }
});

test('the service of a payment type is picked by its scenario, the older one in front', () => {
  const service = (id: string, methods: string[], paymentTypes = ['demopay']) => ({
    serviceId: id,
    providerId: 'p',
    release: 1,
    name: id,
    domain: 'Payments',
    methods,
    paymentTypes,
  });
  const services = [
    service('c', []),
    service('b', ['consumerscan', 'api']),
    service('a', ['MerchantScan']),
    service('0', [], ['other']),
  ];
  assert.equal(selectService(services, 'demopay', 'consumerscan')?.serviceId, 'b');
  assert.equal(selectService(services, 'demopay', 'merchantscan')?.serviceId, 'a');
  assert.equal(selectService(services.slice(0, 1), 'demopay', 'merchantscan')?.serviceId, 'c');
  assert.equal(selectService(services, 'none', 'consumerscan'), undefined);
});
