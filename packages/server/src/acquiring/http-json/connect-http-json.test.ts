// Whole run: much is made, or waited for, before it shows.
// Slow test: runs in the full test run only.
// Tests the adapter against the reference acquirer and against faulty servers.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { type HttpAcquirer, readLedger, startHttpAcquirer } from '@switchyard/simulators';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import {
  createAddressGuard,
  createLog,
  ensureListenerCertificate,
  startSpan,
  systemClock,
} from '../../platform/index.ts';
import type { AcquirerRequest, HttpJsonLink, LateResponse } from '../spi/acquirer-spi.ts';
import { createAcquirerHttpClient } from './acquirer-http-client.ts';
import { connectHttpJson } from './connect-http-json.ts';
import { createRequestSigners } from './signed-exchange.ts';
import { createSigningAcquirer } from './signing-acquirer.fixture.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const keys = createRequestSigners(randomBytes(32));
const names = { organizationId: randomUUID(), linkId: randomUUID(), keyVersion: 1 };
const platformKey = keys.publicKeysFor(names).current.x;
/** Time-out for calls that must succeed on a slow machine. */
const timeoutMs = 20_000;
const shortMs = 3000;
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function acquirer(platformKeys = [platformKey]) {
  const ledgerDir = mkdtempSync(join(tmpdir(), 'http-acquirer-'));
  const server = await startHttpAcquirer({
    host: '127.0.0.1',
    port: 0,
    ledgerDir,
    platformKeys,
    path: '/switchyard',
    // Behind what a thread that stood still for a second reads on for, and as long as it is listened to.
    lateMs: shortMs + 2500,
    slowMs: 150,
  });
  closers.push(async () => {
    await server.stop();
    assert.deepEqual(readLedger(ledgerDir).faults, []);
    rmSync(ledgerDir, { recursive: true });
  });
  return server;
}

function attach(
  port: number,
  settings: Partial<HttpJsonLink['settings']> = {},
  over: { timeoutMs?: number; onAvailabilityChange?: (available: boolean) => void } = {},
) {
  const late: LateResponse[] = [];
  const link: HttpJsonLink = {
    organizationId: names.organizationId,
    linkId: names.linkId,
    name: 'bank',
    adapter: 'http-json',
    settings: {
      host: '127.0.0.1',
      port,
      tls: false,
      institutionId: '100001',
      path: '/switchyard',
      acquirerKeys: [],
      keyVersion: 1,
      ...settings,
    },
  };
  const connection = connectHttpJson({
    addressGuard,
    link,
    timeoutMs,
    log,
    clock: systemClock,
    signer: keys.signerFor(names),
    onLateResponse: (answer) => void late.push(answer),
    ...over,
  });
  closers.push(connection.close);
  return { connection, late };
}

async function attached(server: HttpAcquirer, over: { timeoutMs?: number } = {}) {
  const made = attach(server.port, { acquirerKeys: [server.publicKey] }, over);
  await eventually('the acquirer is ready', () => made.connection.isAvailable());
  return made;
}

let traces = 0;

function request(members: Partial<AcquirerRequest> = {}): AcquirerRequest {
  traces += 1;
  const stan = String(traces).padStart(6, '0');
  return {
    kind: 'Sale',
    repeat: false,
    organizationId: names.organizationId,
    linkId: names.linkId,
    transactionId: randomUUID(),
    reference: {
      mti: '0200',
      terminalId: 'TERM0001',
      stan,
      rrn: `632601${stan}`,
      transmittedAt: '1122014500',
      localTime: '024500',
      localDate: '1122',
    },
    merchantNumber: 'M00000000000001',
    mcc: '5411',
    amount: 1234,
    currency: 'EUR',
    entryMode: 'Keyed',
    card: { pan: '4111111111111111', expiry: '3012' },
    ...members,
  };
}

function after(sale: AcquirerRequest, members: Partial<AcquirerRequest>): AcquirerRequest {
  const { transactionId, reference: original, amount } = sale;
  return request({ transactionId, original, amount, ...members });
}

const sums = (server: HttpAcquirer) => {
  const [totals] = server.ledger().totals;
  return totals && { captured: totals.captured, refunded: totals.refunded, open: totals.openHolds };
};

test('sale, refund, authorisation, captures and reversal change the ledger by their amounts', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  const sale = request();
  const sold = await connection.send(sale);
  assert.equal(sold.outcome, 'Approved');
  assert.deepEqual(sums(server), { captured: 1234, refunded: 0, open: 0 });
  const refunded = await connection.send(after(sale, { kind: 'Refund', amount: 234 }));
  assert.equal(refunded.outcome, 'Approved');
  const authorization = request({ kind: 'Authorization', amount: 1000 });
  await connection.send(authorization);
  await connection.send(after(authorization, { kind: 'Capture', amount: 400 }));
  assert.deepEqual(sums(server), { captured: 1634, refunded: 234, open: 600 });
  await connection.send(
    after(authorization, { kind: 'Reversal', amount: 600, remainingAmount: 400 }),
  );
  assert.deepEqual(sums(server), { captured: 1634, refunded: 234, open: 0 });
});

test('a repeat returns the outcome of the first message, approved or declined', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  const sale = request({ amount: 9051 });
  const first = await connection.send(sale);
  assert.deepEqual(first, { outcome: 'Declined', responseCode: '51' });
  assert.deepEqual(await connection.send({ ...sale, repeat: true }), first);
  const approved = request();
  const firstOutcome = await connection.send(approved);
  assert.deepEqual(await connection.send({ ...approved, repeat: true }), firstOutcome);
  assert.equal(sums(server)?.captured, 1234);
});

test('a time-out has an unknown outcome, and the late response is reported', async () => {
  const server = await acquirer();
  const { connection, late } = await attached(server, { timeoutMs: shortMs });
  const silent = await connection.send(request({ amount: 9091 }));
  assert.deepEqual(silent, { outcome: 'Unknown', reason: 'Timeout' });
  const sale = request({ amount: 9092 });
  assert.deepEqual(await connection.send(sale), { outcome: 'Unknown', reason: 'Timeout' });
  await eventually('the late answer', () => late.length > 0);
  const { transactionId } = sale;
  const { organizationId } = names;
  assert.deepEqual(late, [{ organizationId, transactionId, kind: 'Sale', responseCode: '00' }]);
});

test('an enquiry finds the outcome after a lost connection', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  const sold = await connection.send(request({ amount: 9093 }));
  assert.equal(sold.outcome, 'Approved');
});

test('a pending payment is enquired until its outcome is known', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  const sold = await connection.send(request({ amount: 9097 }));
  assert.equal(sold.outcome, 'Approved');
});

test('a response with an invalid signature has an unknown outcome', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  const sold = await connection.send(request({ amount: 9095 }));
  assert.deepEqual(sold, { outcome: 'Unknown', reason: 'InvalidResponse' });
});

test('an acquirer that rejects the platform key or does not sign is never ready', async () => {
  const foreignKey = keys.publicKeysFor({ ...names, keyVersion: 9 }).current.x;
  const server = await acquirer([foreignKey]);
  const { connection } = attach(server.port, { acquirerKeys: [server.publicKey] });
  let requestCount = 0;
  const port = await listening((_request, response) => {
    requestCount += 1;
    response.end('{"status":"Ready"}');
  });
  const { connection: untrusting } = attach(port, { acquirerKeys: [server.publicKey] });
  await eventually('two requests arrived', () => requestCount >= 2);
  for (const each of [connection, untrusting]) {
    assert.equal(each.isAvailable(), false);
    assert.deepEqual(await each.send(request()), { outcome: 'NotSent', reason: 'not ready' });
  }
});

test('the acquirer accepts the next platform key during key rotation', async () => {
  const server = await acquirer([platformKey, keys.publicKeysFor(names).next.x]);
  const next = { ...names, keyVersion: 2 };
  const connection = connectHttpJson({
    addressGuard,
    link: {
      organizationId: names.organizationId,
      linkId: names.linkId,
      name: 'bank',
      adapter: 'http-json',
      settings: {
        host: '127.0.0.1',
        port: server.port,
        tls: false,
        institutionId: '100001',
        path: '/switchyard',
        acquirerKeys: [server.publicKey],
        keyVersion: 2,
      },
    },
    timeoutMs,
    log,
    clock: systemClock,
    signer: keys.signerFor(next),
    onLateResponse: () => {},
  });
  closers.push(connection.close);
  await eventually('the acquirer is ready', () => connection.isAvailable());
  assert.equal((await connection.send(request())).outcome, 'Approved');
});

/** Starts a server with the given request handler. */
async function listening(act: RequestListener): Promise<number> {
  const server = createServer(act);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return (server.address() as AddressInfo).port;
}

/** An acquirer with valid signatures: payments stay `Pending`, and enquiries get the given outcomes in order. */
async function pendingBank(
  enquiries: readonly [status: number, outcome: string][],
  over: { timeoutMs?: number } = {},
) {
  let requestCount = 0;
  const bank = createSigningAcquirer((path, messageId) => {
    if (path.endsWith('/echo')) return [200, { status: 'Ready' }];
    if (!path.endsWith('/enquiries')) return [202, { messageId, outcome: 'Pending' }];
    const [status, outcome] = enquiries[Math.min(requestCount, enquiries.length - 1)] ?? [500, ''];
    requestCount += 1;
    const approval = outcome === 'Approved' ? { responseCode: '00' } : {};
    return [status, { messageId, outcome, ...approval }];
  });
  const port = await listening(bank.listener);
  const { connection } = attach(port, { acquirerKeys: [bank.publicKey] }, over);
  await eventually('the bank is ready', () => connection.isAvailable());
  return { connection, asked: () => requestCount };
}

test('a rejected enquiry leaves the outcome of the payment unknown', async () => {
  const unknown = { outcome: 'Unknown', reason: 'Timeout' };
  for (const status of [400, 404, 409]) {
    const { connection, asked: requestCount } = await pendingBank([[status, 'NotProcessed']]);
    assert.deepEqual(await connection.send(request()), unknown, String(status));
    assert.equal(requestCount(), 1, 'the answer would be the same');
  }
  const { connection } = await pendingBank([[500, 'NotProcessed']], { timeoutMs: shortMs });
  assert.deepEqual(await connection.send(request()), unknown);
});

test('an enquiry is retried after overload and server errors', async () => {
  const { connection } = await pendingBank([
    [503, 'NotProcessed'],
    [429, 'NotProcessed'],
    [500, 'NotProcessed'],
    [200, 'Approved'],
  ]);
  assert.equal((await connection.send(request())).outcome, 'Approved');
});

// Spec: PROV-57
test('an acquirer with all connections in use gets an echo and stays available', async () => {
  const heldResponses: (() => void)[] = [];
  let echoes = 0;
  let isOver = false;
  const bank = createSigningAcquirer((path, messageId) => {
    if (path.endsWith('/echo')) {
      echoes += 1;
      return [200, { status: 'Ready' }];
    }
    const response = [200, { messageId, outcome: 'Approved', responseCode: '00' }] as const;
    return isOver
      ? response
      : new Promise((resolve) => heldResponses.push(() => resolve(response)));
  });
  let isFirst = true;
  const port = await listening((request, response) => {
    const breaks = isFirst && request.url?.endsWith('/payments') === true;
    if (breaks) isFirst = false;
    if (breaks) request.once('data', () => response.destroy());
    else bank.listener(request, response);
  });
  const states: boolean[] = [];
  const over = {
    timeoutMs: 60_000,
    onAvailabilityChange: (available: boolean) => void states.push(available),
  };
  const { connection } = attach(port, { acquirerKeys: [bank.publicKey] }, over);
  await eventually('the bank is ready', () => connection.isAvailable());
  // One more than there are connections: one is lost, and that one takes its place.
  const all = Array.from({ length: 257 }, () => connection.send(request()));
  await eventually('two echoes arrived', () => echoes >= 2, 20_000);
  assert.equal(connection.isAvailable(), true);
  isOver = true;
  for (const answer of heldResponses) answer();
  const outcomes = await Promise.all(all);
  assert.ok(outcomes.every(({ outcome }) => outcome === 'Approved'));
  assert.deepEqual(states, [true], 'the link was never unavailable');
});

test('an unreachable acquirer has the outcome NotSent and is not available', async () => {
  const port = await listening(() => {});
  await closers.pop()?.();
  const { connection } = attach(port);
  const outcome = await connection.send(request());
  assert.equal(outcome.outcome, 'NotSent');
  assert.equal(connection.isAvailable(), false);
  const calls = createAcquirerHttpClient({
    addressGuard,
    host: '127.0.0.1',
    port,
    tls: false,
    lateResponseWindowMs: 100,
  });
  let sentCount = 0;
  const onSent = () => {
    sentCount += 1;
  };
  const call = { path: '/v1/payments', headers: {}, body: '{}', timeoutMs, onSent };
  // The problem for clients contains no address.
  assert.deepEqual(await calls.post(call), {
    result: 'NotSent',
    reason: 'no connection: ECONNREFUSED',
  });
  calls.close();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sentCount, 0, 'no request was reported as sent');
});

test('the link becomes unavailable after the first message to a stopped acquirer', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  await closers.splice(0, 1)[0]?.();
  const outcome = await connection.send(request());
  assert.ok(['NotSent', 'Unknown'].includes(outcome.outcome), outcome.outcome);
  await eventually('the link is away', () => !connection.isAvailable());
});

test('a not ready acquirer rejects payments without posting', async () => {
  const server = await acquirer();
  const { connection } = await attached(server);
  server.setReady(false);
  const refused = await connection.send(request());
  assert.deepEqual(refused, { outcome: 'NotSent', reason: 'the acquirer rejects new requests' });
  assert.deepEqual(server.ledger().totals, []);
});

test('no request is sent to a server with an untrusted certificate', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'http-acquirer-tls-'));
  const settings = { dataDir, host: 'localhost', tlsCertFile: undefined, tlsKeyFile: undefined };
  const { key, cert } = await ensureListenerCertificate({ settings, clock: systemClock });
  let requestCount = 0;
  let connected = 0;
  const server = createTlsServer({ key, cert }, (_request, response) => {
    requestCount += 1;
    response.end();
  });
  server.on('connection', () => {
    connected += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    rmSync(dataDir, { recursive: true });
    return new Promise((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  const calls = createAcquirerHttpClient({
    addressGuard,
    host: 'localhost',
    port,
    tls: true,
    lateResponseWindowMs: 100,
  });
  const call = { path: '/v1/payments', headers: {}, body: '{}', timeoutMs: 20_000 };
  const { result } = await calls.post(call);
  calls.close();
  assert.equal(result, 'NotSent');
  assert.deepEqual([connected > 0, requestCount], [true, 0]);
});

test('a host outside loopback requires TLS', () => {
  assert.throws(
    () => attach(443, { host: 'acquirer.example' }),
    /requires TLS, because its host is not on loopback/,
  );
});

test('a sampled exchange carries traceparent, which the signature does not cover', async () => {
  const received: (string | undefined)[] = [];
  const bank = createSigningAcquirer((path, messageId) =>
    path.endsWith('/echo')
      ? [200, { status: 'Ready' }]
      : [200, { messageId, outcome: 'Approved', responseCode: '00' }],
  );
  const port = await listening((incoming, response) => {
    if (incoming.url?.endsWith('/payments') === true)
      received.push(incoming.headers['traceparent']?.toString());
    bank.listener(incoming, response);
  });
  const { connection } = attach(port, { acquirerKeys: [bank.publicKey] });
  await eventually('the bank is ready', () => connection.isAvailable());
  const span = startSpan(() => {}, undefined, 'acquirer Sale');
  assert.equal((await connection.send(request(), undefined, span)).outcome, 'Approved');
  await connection.send(request());
  assert.deepEqual(received, [span.traceparent, undefined]);
  assert.equal(span.attributes['network.protocol.name'], 'http');
});
