import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSilentServer } from 'node:net';
import { afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createAddressGuard } from '../../platform/index.ts';
import { createAcquirerHttpClient } from './acquirer-http-client.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Starts a server with controlled responses, and a client for it. */
async function open(options: Partial<Parameters<typeof createAcquirerHttpClient>[0]> = {}) {
  const requests: { path: string; response: ServerResponse }[] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', response });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  const calls = createAcquirerHttpClient({
    addressGuard,
    host: '127.0.0.1',
    port,
    tls: false,
    lateResponseWindowMs: 100,
    ...options,
  });
  closers.push(calls.close);
  const sentPaths: string[] = [];
  return {
    sentPaths: sentPaths,
    post: (path: string, timeoutMs = 60_000) => {
      const onSent = () => void sentPaths.push(path);
      return calls.post({ path, headers: {}, body: '{}', timeoutMs, onPossiblySent: onSent });
    },
    arrived: async (path: string) => {
      await eventually(`${path} arrives`, () => requests.some((each) => each.path === path));
      return requests.find((each) => each.path === path)?.response as ServerResponse;
    },
    requests: () => requests.map(({ path }) => path),
  };
}

test('a queued request counts as sent after it gets a connection', async () => {
  const { sentPaths, post, arrived } = await open({ maxConnections: 1 });
  const first = post('/first');
  const waiting = post('/waiting');
  (await arrived('/first')).end('{}');
  assert.equal((await first).result, 'Responded');
  const response = await arrived('/waiting');
  await eventually('the request is reported as sent', () => sentPaths.includes('/waiting'));
  response.destroy();
  assert.deepEqual(await waiting, { result: 'ConnectionLost' });
});

test('the wait for a free connection times out with NotSent', async (t) => {
  const limitMs = 30_000;
  const { sentPaths, post, arrived, requests } = await open({
    maxConnections: 1,
    connectTimeoutMs: limitMs,
  });
  const first = post('/first');
  const response = await arrived('/first');
  const patient = post('/patient');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hasty = post('/hasty');
  const now = () => Promise.race([hasty, setImmediate('waits')]);
  t.mock.timers.tick(limitMs - 1);
  assert.equal(await now(), 'waits');
  t.mock.timers.tick(1);
  assert.deepEqual(await now(), { result: 'NotSent', reason: 'no connection' });
  t.mock.timers.reset();
  response.end('{}');
  assert.equal((await first).result, 'Responded');
  (await arrived('/patient')).end('{}');
  assert.equal((await patient).result, 'Responded');
  assert.deepEqual(requests(), ['/first', '/patient']);
  assert.deepEqual(sentPaths, ['/first', '/patient']);
});

test('the connect time-out starts after the wait for a free connection', async (t) => {
  // Accepts connections and never completes the TLS handshake.
  const silent = createSilentServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => silent.close(() => resolve())));
  const { port } = silent.address() as AddressInfo;
  const { post } = await open({ port, tls: true, connectTimeoutMs: 30_000 });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const call = post('/late');
  const now = () => Promise.race([call, setImmediate('waits')]);
  // The request has no connection yet.
  t.mock.timers.tick(20_000);
  assert.equal(await now(), 'waits');
  t.mock.timers.tick(29_999);
  assert.equal(await now(), 'waits');
  t.mock.timers.tick(1);
  assert.deepEqual(await now(), { result: 'NotSent', reason: 'no connection' });
});

test('a response that arrived before the time-out is accepted after a blocked event loop', async () => {
  const { post, arrived } = await open();
  const answer = post('/slow', 300);
  const response = await arrived('/slow');
  // The event loop runs timers before sockets.
  await setImmediate();
  response.end('{}');
  // The response is in the socket buffer when the time-out passes.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  for (const end = performance.now() + 600; performance.now() < end; );
  assert.equal((await answer).result, 'Responded');
});
