// The handler as a server: each call, its refusals, and both ways to run it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request as plainRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { CreateQrPayment, QrPaymentAnswer } from '@switchyard/contract';
import { defined, providerCallText, providerPaths } from '@switchyard/contract';
import Fastify from 'fastify';
import { signCall } from './call-signatures.ts';
import { providerFastifyPlugin } from './fastify-plugin.ts';
import { createProviderHttpHandler } from './http-handler.ts';
import { ProviderProblemError } from './provider-problem-error.ts';
import type { ActivationRequest, QrProvider } from './qr-provider.ts';

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const renewed = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const amount = { amount: 1050, currency: 'EUR' };

function payment(change: Partial<CreateQrPayment> = {}): CreateQrPayment {
  return {
    platformTransactionId: randomUUID(),
    clientTransactionId: 'till-7:1',
    serviceId: randomUUID(),
    paymentType: 'demopay',
    paymentScenario: 'consumerscan',
    amount,
    merchant: {
      merchantId: randomUUID(),
      name: 'Café Nord',
      acquirerId: randomUUID(),
      storeId: randomUUID(),
      storeName: 'Harbour',
      terminalId: randomUUID(),
      country: 'DE',
    },
    createdAt: '2026-03-01T12:30:00.000Z',
    expiresAt: '2026-03-01T12:33:00.000Z',
    eventsUrl: 'https://pay.example/qrcode-payment/v1/transactions/x/events',
    ...change,
  };
}

const paid: QrPaymentAnswer = { providerTransactionId: 'P-1', status: 'Completed', amount };
const switched: [string, ActivationRequest][] = [];

const provider: QrProvider = {
  create({ paymentType }) {
    if (paymentType === 'later') return { providerTransactionId: 'P-2', status: 'Created' };
    if (paymentType === 'broken') throw new Error('the database is away');
    if (paymentType === 'busy') {
      throw new ProviderProblemError({ status: 503, code: 'busy', retryAfterSeconds: 7 });
    }
    return { providerTransactionId: 'P-1', status: 'Pending', amount };
  },
  find: (id) => (id.startsWith('0000') ? undefined : paid),
  cancel() {
    throw new ProviderProblemError({
      status: 409,
      code: 'already_paid',
      paymentStatus: 'Completed',
    });
  },
  refund: async ({ refundId }) => ({ refundId, status: 'Pending' }),
  findRefund: (_id, refundId) =>
    refundId.startsWith('0000') ? undefined : { refundId, status: 'Completed' },
  activate(request) {
    switched.push(['on', request]);
    if (request.level === 'Organization') return undefined as never;
    return request.level === 'Store' ? { status: 'Later' } : { status: 'Accepted' };
  },
  deactivated(request) {
    switched.push(['off', request]);
  },
};

type Answer = { status: number; body: Record<string, unknown>; headers: Headers };

describe('the handler of a provider', () => {
  const faults: unknown[] = [];
  const options = {
    provider,
    secrets: async () => [secret, renewed],
    onError: (error: unknown) => faults.push(error),
  };
  const server = createServer(createProviderHttpHandler({ ...options, path: '/spi/' }));
  const app = Fastify();
  let bases: string[] = [];

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await app.register(providerFastifyPlugin({ provider, secrets: [secret] }), { prefix: '/spi' });
    app.post('/own', async (request) => request.body);
    await app.listen({ port: 0, host: '127.0.0.1' });
    bases = [server, app.server].map(
      (each) => `http://127.0.0.1:${(each.address() as AddressInfo).port}/spi`,
    );
  });
  after(async () => {
    await app.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function send(base: string, method: string, path: string, body?: string): Promise<Answer> {
    const text = body ?? providerCallText('GET', path);
    const headers = signCall({ id: randomUUID(), at: Date.now(), text, secrets: [secret] });
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...defined({ body }),
    });
    const said = (await answer.json()) as Record<string, unknown>;
    return { status: answer.status, body: said, headers: answer.headers };
  }

  const post = (path: string, body: object, base = bases[0] ?? '') =>
    send(base, 'POST', path, JSON.stringify(body));
  const get = (path: string, base = bases[0] ?? '') => send(base, 'GET', path);

  it('answers every call, as a listener of node and as a plug-in', async () => {
    for (const base of bases) {
      const id = randomUUID();
      const refundId = randomUUID();
      const made = await post(providerPaths.payments, payment(), base);
      assert.deepEqual([made.status, made.body['status']], [200, 'Pending']);
      assert.equal(made.headers.get('content-type'), 'application/json');
      const current = await get(providerPaths.payment(id), base);
      assert.deepEqual([current.status, current.body['status']], [200, 'Completed']);
      const requestedAt = '2026-03-01T12:31:00.000Z';
      const cancel = { platformTransactionId: id, reason: 'Merchant', requestedAt };
      const cancelled = await post(providerPaths.cancel(id), cancel, base);
      assert.equal(cancelled.status, 409);
      assert.equal(cancelled.headers.get('content-type'), 'application/problem+json');
      assert.equal(cancelled.body['paymentStatus'], 'Completed');
      const refund = { refundId, platformTransactionId: id, amount, requestedAt };
      const refunded = await post(providerPaths.refunds(id), refund, base);
      assert.deepEqual([refunded.status, refunded.body['status']], [202, 'Pending']);
      const answer = await get(providerPaths.refund(id, refundId), base);
      assert.deepEqual([answer.status, answer.body['status']], [200, 'Completed']);
      assert.deepEqual((await get(providerPaths.health, base)).body, { status: 'Up' });
    }
  });

  it('answers 202 if the display follows later, and gives the reason of a refusal', async () => {
    const later = await post(providerPaths.payments, payment({ paymentType: 'later' }));
    assert.deepEqual([later.status, later.body['status']], [202, 'Created']);
    const busy = await post(providerPaths.payments, payment({ paymentType: 'busy' }));
    assert.deepEqual([busy.status, busy.body['code']], [503, 'busy']);
    assert.equal(busy.headers.get('retry-after'), '7');
  });

  it('receives activations and answers them at once or later', async () => {
    const request = { handshakeId: randomUUID(), level: 'Merchant', parameters: { account: '1' } };
    const on = { type: 'service.activation_requested', data: request };
    assert.deepEqual((await post('', on)).body, { status: 'Accepted' });
    assert.equal((await post('/', { ...on, data: { ...request, level: 'Store' } })).status, 202);
    assert.equal((await post('', { type: 'service.deactivated', data: request })).status, 200);
    const missing = await post('', { ...on, data: { ...request, level: 'Organization' } });
    assert.equal(missing.status, 500, 'an answer without a decision does not activate the service');
    assert.match(String(faults.at(-1)), /activate must return the status/);
    assert.deepEqual(
      switched.map(([way]) => way),
      ['on', 'on', 'off', 'on'],
    );
    assert.equal((await post('', { type: 'service.renamed', data: {} })).status, 422);
    assert.equal((await post('', { type: 'service.deactivated' })).status, 422);
    assert.equal((await send(bases[0] ?? '', 'POST', '', 'null')).status, 422);
  });

  it('rejects an unsigned call after checking only its path', async () => {
    for (const base of bases) {
      const unsigned = await fetch(`${base}/qr-payments`, { method: 'POST', body: '{' });
      assert.equal(unsigned.status, 401);
      const replayed = signCall({ id: 'x', at: Date.now(), text: '{}', secrets: [secret] });
      const other = await fetch(`${base}/qr-payments`, {
        method: 'POST',
        headers: replayed,
        body: '{ }',
      });
      assert.equal(other.status, 401);
    }
    const old = signCall({ id: 'x', at: Date.now() - 400_000, text: '{}', secrets: [secret] });
    const stale = await fetch(`${bases[0]}/qr-payments`, {
      method: 'POST',
      headers: old,
      body: '{}',
    });
    assert.equal(stale.status, 401);
    // A signature for the health address is not valid for a payment address.
    const text = providerCallText('GET', providerPaths.health);
    const headers = signCall({ id: 'x', at: Date.now(), text, secrets: [renewed] });
    const health = await fetch(`${bases[0]}${providerPaths.health}`, { headers });
    assert.equal(health.status, 200);
    const elsewhere = await fetch(`${bases[0]}${providerPaths.payment(randomUUID())}`, { headers });
    assert.equal(elsewhere.status, 401);
  });

  it('rejects invalid messages with positions and without values', async () => {
    const broken = await send(bases[0] ?? '', 'POST', providerPaths.payments, '{"a":');
    assert.deepEqual([broken.status, broken.body['code']], [400, 'body_malformed']);
    const scannedPaymentId = '9'.repeat(1025);
    const long = await post(providerPaths.payments, payment({ scannedPaymentId }));
    assert.equal(long.status, 422);
    assert.match(String(long.body['detail']), /scannedPaymentId/);
    assert.ok(!JSON.stringify(long.body).includes('99999'));
    const { amount: _amount, ...without } = payment();
    assert.equal((await post(providerPaths.payments, without)).status, 422);
    const unknown = { ...payment(), more: { than: 'known' } };
    assert.equal((await post(providerPaths.payments, unknown)).status, 200);
    const other = randomUUID();
    const cancel = {
      platformTransactionId: randomUUID(),
      reason: 'Expired',
      requestedAt: '2026-03-01T12:31:00.000Z',
    };
    assert.equal((await post(providerPaths.cancel(other), cancel)).status, 422);
  });

  it('knows its addresses, and no others', async () => {
    const missing = '00000000-0000-7000-8000-000000000000';
    const unknown = await get(providerPaths.payment(missing));
    assert.deepEqual([unknown.status, unknown.body['code']], [404, 'payment_not_found']);
    const refund = await get(providerPaths.refund(randomUUID(), missing));
    assert.deepEqual([refund.status, refund.body['code']], [404, 'refund_not_found']);
    assert.equal((await get('/qr-payments/none')).status, 404);
    assert.equal((await get('/qr-payments')).status, 405);
    assert.equal((await post(providerPaths.health, {})).status, 405);
    const below = await fetch(`${bases[0]}/typo/health`);
    assert.equal(below.status, 404, 'also for unsigned calls');
    const base = (bases[0] ?? '').replace('/spi', '/spies');
    assert.equal((await send(base, 'GET', '/health')).status, 404);
  });

  it('answers 500 if an operation fails and reports the error only to the provider', async () => {
    const failed = await post(providerPaths.payments, payment({ paymentType: 'broken' }));
    assert.equal(failed.status, 500);
    assert.ok(!JSON.stringify(failed.body).includes('database'));
    assert.match(String(faults.at(-1)), /the database is away/);
  });

  it('reads 64 KiB and no more, and outlives a call that breaks off', async () => {
    const body = JSON.stringify({ filler: 'x'.repeat(70_000) });
    const headers = signCall({ id: 'x', at: Date.now(), text: body, secrets: [secret] });
    for (const base of bases) {
      const long = await fetch(`${base}/qr-payments`, { method: 'POST', headers, body });
      assert.equal(long.status, 413);
      await new Promise<void>((resolve) => {
        const half = plainRequest(`${base}/qr-payments`, {
          method: 'POST',
          headers: { 'content-length': '100' },
        });
        half.on('error', () => resolve());
        half.write('{"half":');
        half.once('socket', (socket) =>
          socket.once('connect', () => setImmediate(() => half.destroy())),
        );
      });
      assert.equal((await get(providerPaths.health, base)).status, 200);
    }
  });

  it('leaves the rest of the application as it was', async () => {
    const ownRoute = await app.inject({ method: 'POST', url: '/own', payload: { kept: true } });
    assert.deepEqual(ownRoute.json(), { kept: true });
  });
});
