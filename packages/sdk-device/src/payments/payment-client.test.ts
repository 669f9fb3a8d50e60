// Payments, tokens, codes and the till, with a small platform over real TLS.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import type { ProcessRequest } from '@switchyard/contract';
import type { Clock } from '@switchyard/sdk-core';
import {
  customTokens,
  type DeviceTokens,
  machineTokens,
  passwordTokens,
} from '../authentication/device-tokens.ts';
import { openOfflineQueue } from '../offline-sales/offline-queue.ts';
import { createSaleProcessor } from '../offline-sales/sale-processor.ts';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import {
  type FakeAnswer,
  type FakePlatform,
  problem,
  startFakePlatform,
} from '../testing/fake-platform.fixture.ts';
import { createPaymentClient, type PaymentClient } from './payment-client.ts';
import { createQrClient } from './qr-client.ts';

let certificates: TestCertificates;
let platform: FakePlatform;
const open: { close(): void }[] = [];
const clock: Clock = { now: () => 1_800_000_000_000, wait: async () => {} };
const tokens = { get: async () => 'known', invalidate() {} };
const transaction = { transactionId: 't', approved: true, state: 'Captured' };
const cut: FakeAnswer = (raw) => raw.destroy();
const sale: ProcessRequest = {
  clientTransactionId: 'c-1',
  amount: 1250,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { token: 'card' },
};

before(async () => {
  certificates = await testCertificates();
});
beforeEach(async () => {
  platform = await startFakePlatform(certificates);
});
afterEach(async () => {
  for (const each of open.splice(0)) each.close();
  await platform.stop();
});
function closing<Thing extends { close(): void }>(thing: Thing): Thing {
  open.push(thing);
  return thing;
}
const tls = () => ({ ca: certificates.ca, ...certificates.device });
const client = (more = {}): PaymentClient =>
  closing(createPaymentClient({ baseUrl: platform.url, tokens, tls: tls(), clock, ...more }));
/** Sets the answers in order; the last one repeats. */
function script(...told: FakeAnswer[]): void {
  let next = 0;
  platform.answer = () => told[Math.min(next++, told.length - 1)] as FakeAnswer;
}

describe('payments of a terminal', () => {
  // Spec: NEXO-41
  test('are logged by method and path without card, identifier or token', async () => {
    const lines: string[] = [];
    const line = (level: string) => (facts: object, text: string) =>
      void lines.push(JSON.stringify({ level, text, ...facts }));
    const log = { debug: line('debug'), info: line('info'), warn: line('warn') };
    const number = `4${'1'.repeat(15)}`;
    const card = { number, expiryMonth: 12, expiryYear: 2030, securityCode: '987' };
    const paid = { status: 200, body: transaction };
    script(paid, paid, problem(422, 'amount_invalid', { detail: `not ${number}` }));
    const payments = client({ log });
    await payments.sell({ ...sale, clientTransactionId: 'order-of-john', instrument: { card } });
    await payments.capture('order-of-john');
    await assert.rejects(payments.refund('order-of-john'), { code: 'amount_invalid' });
    const all = lines.join('\n');
    for (const never of [number, '987', 'order-of-john', 'known']) {
      assert.ok(!all.includes(never), `${never} in\n${all}`);
    }
    const base = '/payment/v1/transactions';
    assert.deepEqual(
      lines.map((each) => JSON.parse(each)).map(({ level, path, code }) => [level, path, code]),
      [
        ['debug', `${base}/process`, undefined],
        ['debug', `${base}/:id/capture`, undefined],
        ['warn', `${base}/:id/refund`, 'amount_invalid'],
      ],
    );
  });

  test('a sale whose response is lost is sent again with the same identifier', async () => {
    script(cut, { status: 502 }, { status: 200, body: transaction });
    const made = await client().sell(sale);
    assert.equal(made.transactionId, 't');
    const ids = platform.requests.map(({ body }) => JSON.parse(body).clientTransactionId);
    assert.deepEqual(ids, ['c-1', 'c-1', 'c-1']);
    assert.ok(
      platform.requests.every(
        ({ token, certificateName: shown }) => token === 'known' && shown === 'device',
      ),
    );
  });

  test('a sale without a response stays unknown after later failures', async () => {
    script(cut);
    await assert.rejects(client().sell(sale), { kind: 'Unknown', code: 'no_answer' });
    assert.equal(platform.requests.length, 3);
    script(cut, problem(503, 'overloaded', { retryable: true }));
    await assert.rejects(client({ saleAttempts: 2 }).sell(sale), { kind: 'Unknown' });
  });

  test('after a lost response only a refusal of the sale itself ends the attempts', async () => {
    for (const [status, code] of [
      [401, 'token_invalid'],
      [403, 'permission_missing'],
      [404, 'not_found'],
      [408, 'timeout'],
      [429, 'rate_limited'],
      [503, 'overloaded'],
    ] as const) {
      script(cut, problem(status, code));
      await assert.rejects(client().sell(sale), { kind: 'Unknown', code: 'no_answer' }, code);
    }
    script(cut, { status: 403 });
    await assert.rejects(client().sell(sale), { kind: 'Unknown' }, 'of a proxy');
    script(cut, problem(422, 'amount_zero'));
    await assert.rejects(client().sell(sale), { kind: 'Refused', code: 'amount_zero' });
    script(cut, problem(401, 'token_invalid'), { status: 200, body: transaction });
    assert.equal((await client().sell(sale)).transactionId, 't');
  });

  test('a refusal is thrown at once with its code; an unreachable platform received nothing', async () => {
    script(problem(422, 'amount_zero'));
    await assert.rejects(client().sell(sale), {
      kind: 'Refused',
      code: 'amount_zero',
      status: 422,
    });
    assert.equal(platform.requests.length, 1);
    const unreachable = client({ baseUrl: 'https://localhost:1' });
    await assert.rejects(unreachable.sell(sale), { kind: 'NotSent', code: 'unreachable' });
    const withoutCertificate = client({ tls: {} });
    await assert.rejects(withoutCertificate.sell(sale), { kind: 'NotSent' });
    assert.equal(platform.requests.length, 1);
    assert.throws(() => client({ baseUrl: 'http://pay.example' }), { code: 'address_invalid' });
  });

  test('a revoked token is replaced once; each call uses its path', async () => {
    const forgotten: string[] = [];
    const tokenSource = {
      get: async () => `k${forgotten.length}`,
      invalidate: (token: string) => void forgotten.push(token),
    };
    script(problem(401, 'token_invalid'), { status: 200, body: transaction });
    const payments = client({ tokens: tokenSource });
    await payments.find('a/b', { waitSeconds: 5 });
    assert.deepEqual(forgotten, ['k0']);
    await payments.confirm('t');
    await payments.capture('t', { amount: 1 });
    await payments.refund('t');
    await payments.cancel('t', { cancelReason: 'Technical' });
    await payments.refundByWeb('t');
    await payments.allowedOperations('t');
    await payments.getAvailability();
    const paths = platform.requests.map(
      ({ method, path }) => `${method} ${path.replace('/payment/v1/transactions', '')}`,
    );
    assert.deepEqual(paths.slice(1), [
      'GET /a%2Fb?wait=5',
      'POST /t/confirm',
      'POST /t/capture',
      'POST /t/refund',
      'POST /t/cancel',
      'POST /t/refundbyweb',
      'GET /t/allowedoperations',
      'GET /technical/isAvailable',
    ]);
  });
});

describe('tokens of a terminal', () => {
  const tokenResponse = (members = {}): FakeAnswer => ({
    status: 200,
    body: {
      access_token: `a${platform.requests.length}`,
      expires_in: 300,
      refresh_expires_in: 0,
      ...members,
    },
  });
  const movable = () => {
    let now = 0;
    return {
      now: () => now,
      wait: async () => {},
      advance(ms: number) {
        now += ms;
      },
    };
  };
  const grants = () =>
    platform.requests.map(({ path, body }) => new URLSearchParams(body).get('grant_type') ?? path);

  test('machine tokens: credentials by certificate, cached, renewed, looked up again if invalid', async () => {
    const time = movable();
    let isDead = false;
    platform.answer = ({ path, body }) => {
      if (path.includes('merchants-credentials')) {
        const n = platform.requests.length;
        return {
          status: 200,
          body: [{ merchantName: 'm', userDomain: 'd', clientId: 'c', clientSecret: `s${n}` }],
        };
      }
      const dies = isDead && body.includes('client_secret=s1');
      return dies ? { status: 401, body: { error: 'invalid_client' } } : tokenResponse();
    };
    const url = platform.url;
    const source: DeviceTokens = closing(
      machineTokens({
        authUrl: url,
        deviceAuthUrl: url,
        serialNumber: '1',
        tls: tls(),
        clock: time,
      }),
    );
    assert.deepEqual(await Promise.all([source.get(), source.get()]), ['a2', 'a2']);
    time.advance(269_000);
    assert.equal(await source.get(), 'a2');
    time.advance(2000);
    assert.equal(await source.get(), 'a3');
    isDead = true;
    source.invalidate('another');
    assert.equal(await source.get(), 'a3');
    source.invalidate('a3');
    assert.equal(await source.get(), 'a6');
    const lookUp = '/oauth2-mtls/v1/merchants-credentials?serial_number=1';
    const clientCredentials = 'client_credentials';
    assert.deepEqual(grants(), [
      lookUp,
      clientCredentials,
      clientCredentials,
      clientCredentials,
      lookUp,
      clientCredentials,
    ]);
    assert.ok(platform.requests.every(({ certificateName: shown }) => shown === 'device'));
  });

  test('password tokens: the password once, then refreshes, the password again after a refusal', async () => {
    const time = movable();
    let requestCount = 0;
    let isOver = false;
    platform.answer = ({ body }) =>
      isOver && body.includes('refresh_token')
        ? { status: 400, body: { error: 'invalid_grant' } }
        : tokenResponse({ refresh_token: 'r', refresh_expires_in: 1800 });
    const source = closing(
      passwordTokens({
        deviceAuthUrl: platform.url,
        clientId: 'device',
        tls: tls(),
        clock: time,
        async signIn() {
          requestCount += 1;
          return { username: 'u', password: 'p', totp: '123456' };
        },
      }),
    );
    await source.get();
    time.advance(300_000);
    await source.get();
    assert.equal(requestCount, 1);
    isOver = true;
    time.advance(300_000);
    await source.get();
    assert.equal(requestCount, 2);
    assert.deepEqual(grants(), ['password', 'refresh_token', 'refresh_token', 'password']);
    script({ status: 400, body: { error: 'invalid_grant' } });
    source.invalidate(await source.get());
    await assert.rejects(source.get(), (error: Error) => !/123456|password|=p/.test(error.message));
  });

  test('an aborted caller stops waiting and does not affect the others', async () => {
    platform.answer = () => tokenResponse();
    let signedIn: () => void = () => {};
    const atTheScreen = new Promise<void>((resolve) => {
      signedIn = resolve;
    });
    let requestCount = 0;
    const source = closing(
      passwordTokens({
        deviceAuthUrl: platform.url,
        clientId: 'device',
        tls: tls(),
        clock: movable(),
        async signIn() {
          requestCount += 1;
          await atTheScreen;
          return { username: 'u', password: 'p' };
        },
      }),
    );
    const stop = new AbortController();
    const first = source.get(stop.signal);
    const second = source.get(new AbortController().signal);
    const isAborted = { name: 'DeviceError', kind: 'Aborted' };
    stop.abort();
    await assert.rejects(first, isAborted);
    await assert.rejects(source.get(stop.signal), isAborted);
    signedIn();
    assert.equal(await second, await source.get());
    assert.equal(requestCount, 1);
  });

  test('demo tokens: created with the token of a user and refreshed', async () => {
    const time = movable();
    platform.answer = () => tokenResponse({ refresh_token: 'r' });
    const source = closing(
      customTokens({
        authUrl: platform.url,
        realm: 'demo',
        clientId: 'device',
        deviceId: 'X-1',
        tls: tls(),
        clock: time,
        merchantToken: async () => 'merchant',
      }),
    );
    await source.get();
    time.advance(300_000);
    await source.get();
    const [first, second] = platform.requests;
    assert.equal(first?.path, '/auth/realms/demo/custom-token');
    assert.equal(first?.token, 'merchant');
    assert.equal(second?.path, '/oauth2/v1/demo/token');
  });
});

describe('a till', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'switchyard-till-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  function till(approved: string | undefined = '1A', more = {}) {
    const queue = closing(
      openOfflineQueue({ file: join(folder, 'q'), key: Buffer.alloc(32), clock }),
    );
    const made = createSaleProcessor({
      payments: client(more),
      queue,
      approve: async () => approved,
    });
    return { till: made, queue };
  }

  // Spec: NEXO-71
  test('sells offline only if nothing was processed and uploads when the platform is available', async () => {
    const one = till();
    script({ status: 200, body: transaction });
    assert.equal((await one.till.sell(sale)).mode, 'Online');
    script(cut);
    await assert.rejects(one.till.sell({ ...sale, clientTransactionId: 'c-2' }), {
      kind: 'Unknown',
    });
    assert.equal(one.queue.sales.length, 0);
    assert.equal(one.till.offlineReason, undefined);
    script(problem(503, 'acquirer_unavailable', { retryable: true }));
    const made = await one.till.sell({ ...sale, clientTransactionId: 'c-3' });
    assert.deepEqual([made.mode, one.till.offlineReason], ['Offline', 'AcquirerUnavailable']);
    const before = platform.requests.length;
    await one.till.sell({ ...sale, clientTransactionId: 'c-4' });
    assert.equal(platform.requests.length, before);
    script({ status: 200, body: { available: false, offlineAdvised: true, links: [] } });
    assert.equal(await one.till.checkPlatform(), 'AcquirerUnavailable');
    platform.answer = ({ path }) =>
      path.endsWith('isAvailable')
        ? { status: 200, body: { available: true, offlineAdvised: false, links: [] } }
        : { status: 200, body: transaction };
    assert.equal(await one.till.checkPlatform(), undefined);
    assert.deepEqual(one.queue.sales, []);
    assert.ok(platform.requests.at(-1)?.body.includes('"offlineTransaction":true'));
  });

  // Spec: CC-24
  test('sells offline if no token is available for now, but not if the credentials are refused', async () => {
    const signIn = async () => ({ username: 'u', password: 'p' });
    const tokenOptions = { deviceAuthUrl: platform.url, clientId: 'c', tls: tls(), signIn };
    const one = till('1A', { tokens: closing(passwordTokens(tokenOptions)) });
    // The token expires at once, so each call requests a new one.
    const tokenAnswer: FakeAnswer = { status: 200, body: { access_token: 'a', expires_in: 0 } };
    const paid = { status: 200, body: transaction };
    let token: FakeAnswer = { status: 401, body: { error: 'invalid_client' } };
    platform.answer = ({ path }) => {
      if (path.endsWith('/token')) return token;
      const links = { available: true, offlineAdvised: false, links: [] };
      return path.endsWith('isAvailable') ? { status: 200, body: links } : paid;
    };
    await assert.rejects(one.till.sell(sale), { kind: 'Refused', code: 'invalid_client' });
    assert.deepEqual([one.till.offlineReason, one.queue.sales], [undefined, []]);
    const moments = [{ status: 503 }, { status: 500 }, problem(429, 'rate_limited')];
    for (const [turn, told] of moments.entries()) {
      token = told;
      const made = await one.till.sell({ ...sale, clientTransactionId: `m-${turn}` });
      assert.deepEqual([made.mode, one.till.offlineReason], ['Offline', 'ServerUnavailable']);
      assert.equal(await one.till.checkPlatform(), 'ServerUnavailable');
      token = tokenAnswer;
      assert.equal(await one.till.checkPlatform(), undefined);
      assert.deepEqual(one.queue.sales, []);
    }
  });

  // Spec: CC-24
  test('standalone mode sends no requests, and a sale declined by the chip is not made', async () => {
    const one = till();
    one.till.setStandalone(true);
    const made = await one.till.sell(sale);
    assert.equal(made.mode === 'Offline' && made.reason, 'DeviceStandalone');
    assert.equal(await one.till.checkPlatform(), 'DeviceStandalone');
    assert.equal(platform.requests.length, 0);
    const declining = createSaleProcessor({
      payments: client(),
      queue: one.queue,
      approve: async () => undefined,
    });
    declining.setStandalone(true);
    await assert.rejects(declining.sell({ ...sale, clientTransactionId: 'z' }), {
      code: 'offline_declined',
    });
  });
});

describe('QR payments of a terminal', () => {
  const event = (sequence: number, type: string) =>
    `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type })}\n\n`;
  const stream =
    (...pieces: string[]): FakeAnswer =>
    (raw) => {
      raw.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces) raw.write(piece);
      raw.end();
    };

  test('are followed across breaks: each event once, in order, until the end', async () => {
    script(
      stream('id: 0\nretry: 4000\n\n', event(1, 'qr.created'), event(2, 'qr.pending').slice(0, 20)),
      cut,
      { status: 503, body: { code: 'shutting_down', outcome: 'NotProcessed', retryable: true } },
      stream(
        event(1, 'qr.created'),
        event(2, 'qr.pending'),
        ':\n\n',
        'event: end\ndata: {"reason":"shutting_down"}\n\n',
      ),
      stream(event(3, 'qr.completed'), 'event: end\ndata: {"reason":"completed"}\n\n'),
    );
    const hasty: Clock = {
      ...clock,
      wait: (ms) => new Promise((done) => (ms < 60_000 ? done() : undefined)),
    };
    const qr = closing(createQrClient({ baseUrl: platform.url, tokens, tls: tls(), clock: hasty }));
    const heard: number[] = [];
    for await (const { sequence } of qr.follow('q')) heard.push(sequence);
    assert.deepEqual(heard, [1, 2, 3]);
    const ids = platform.requests.map(({ headers }) => headers['last-event-id']);
    assert.deepEqual(ids, ['0', '1', '1', '1', '2']);
    script((raw) => raw.writeHead(204).end());
    for await (const _ of qr.follow('q', { after: 3 })) assert.fail('nothing is left');
    script(problem(404, 'transaction_not_found'));
    await assert.rejects(qr.follow('q').next(), { kind: 'Refused', code: 'transaction_not_found' });
  });

  test('a signal ends the wait, and each call uses its path', async () => {
    const stop = new AbortController();
    const hanging: FakeAnswer = (raw) => {
      raw.writeHead(200, { 'content-type': 'text/event-stream' });
      raw.write(event(1, 'qr.created'));
    };
    script(hanging);
    const patient: Clock = { now: () => 0, wait: () => new Promise(() => {}) };
    const qr = closing(
      createQrClient({ baseUrl: platform.url, tokens, tls: tls(), clock: patient }),
    );
    const follow = qr.follow('q', { signal: stop.signal });
    assert.equal((await follow.next()).value?.sequence, 1);
    const next = follow.next();
    stop.abort();
    await assert.rejects(next, { kind: 'Aborted' });
    script({ status: 200, body: { transactionId: 'q' } });
    await qr.create({
      paymentType: 'p',
      paymentScenario: 'consumerscan',
      clientTransactionId: 'c',
      paymentAmount: { amount: 1, currency: 'EUR' },
    });
    await qr.find('q');
    await qr.cancel('q');
    await qr.refund('q', { amount: 1 });
    const paths = platform.requests
      .slice(1)
      .map(({ path }) => path.replace('/qrcode-payment/v1/transactions', ''));
    assert.deepEqual(paths, ['', '/q', '/q/cancel', '/q/refund']);
  });
});
