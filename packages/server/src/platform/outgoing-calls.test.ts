import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createOutgoingCalls } from './outgoing-calls.ts';

async function serving<T>(
  listener: RequestListener,
  use: (port: number) => Promise<T>,
): Promise<T> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const message = { headers: { 'webhook-id': 'm1' }, body: '{"a":1}' };
const here = createOutgoingCalls({ allowsLoopback: true, answerLimitBytes: 1000 });
const hasty = createOutgoingCalls({ allowsLoopback: true, timeoutMs: 300 });

test('a call carries its headers and body, and brings the answer', async () => {
  const seen: unknown[] = [];
  const answer = await serving(
    (request, reply) => {
      request.on('data', (chunk: Buffer) => {
        seen.push(request.headers['webhook-id'], request.method, chunk.toString());
        reply.writeHead(202).end('later');
      });
    },
    (port) => here.post(`http://localhost:${port}/spi`, message),
  );
  assert.deepEqual(answer, { status: 202, body: 'later' });
  assert.deepEqual(seen, ['m1', 'POST', '{"a":1}']);
});

test('a redirect is an answer, and nobody follows it', async () => {
  let calls = 0;
  const answer = await serving(
    (_request, reply) => {
      calls += 1;
      reply.writeHead(307, { location: '/elsewhere' }).end();
    },
    (port) => here.post(`http://127.0.0.1:${port}/`, message),
  );
  assert.deepEqual([answer, calls], [{ status: 307, body: '' }, 1]);
});

test('who hangs, drips or sends too much is cut off', async () => {
  const late = (port: number) => hasty.post(`http://127.0.0.1:${port}/`, message);
  assert.deepEqual(await serving(() => {}, late), { fault: 'timed_out' });
  const drip: RequestListener = (_request, reply) => {
    reply.writeHead(200);
    const timer = setInterval(() => reply.write('x'), 50);
    reply.on('close', () => clearInterval(timer));
  };
  assert.deepEqual(await serving(drip, late), { fault: 'timed_out' });
  const flood: RequestListener = (_request, reply) => void reply.end('x'.repeat(10_000_000));
  const url = (port: number) => here.post(`http://127.0.0.1:${port}/`, message);
  assert.deepEqual(await serving(flood, url), { fault: 'answer_too_large' });
});

test('who is not there, or hangs up, is unreachable', async () => {
  const port = await serving(
    () => {},
    async (free) => free,
  );
  assert.deepEqual(await here.post(`http://127.0.0.1:${port}/`, message), { fault: 'unreachable' });
  const cut: RequestListener = (request) => void request.socket.destroy();
  const answer = await serving(cut, (at) => here.post(`http://127.0.0.1:${at}/`, message));
  assert.deepEqual(answer, { fault: 'unreachable' });
});

test('addresses of the house are refused, also behind a name, also one of several', async () => {
  const resolving = (...addresses: string[]) =>
    createOutgoingCalls({
      allowsLoopback: false,
      lookup: async () => addresses.map((address) => ({ address, family: 4 })),
    });
  for (const calls of [
    resolving('127.0.0.1'),
    resolving('8.8.8.8', '10.0.0.1'),
    resolving('169.254.169.254'),
    resolving(),
  ]) {
    const answer = await calls.post('https://provider.example/', message);
    assert.deepEqual(answer, { fault: 'address_refused' });
  }
});

test('what an address may look like depends on the environment', () => {
  const production = createOutgoingCalls({ allowsLoopback: false });
  for (const url of [
    'http://provider.example/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://10.0.0.1/',
    'https://user:word@provider.example/',
    'https://provider.example/#top',
    'ftp://provider.example/',
    'provider.example',
  ]) {
    assert.notEqual(production.faultOf(url), undefined, url);
  }
  assert.equal(production.faultOf('https://provider.example/spi?tenant=1'), undefined);
  assert.equal(here.faultOf('http://127.0.0.1:9000/spi'), undefined);
  assert.notEqual(here.faultOf('http://provider.example/'), undefined);
});
