// Tests whether a request without an answer may have reached the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import type { HttpClient } from '@switchyard/sdk-core';
import { DeviceError } from '../support/device-error.ts';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import { type FakePlatform, startFakePlatform } from '../testing/fake-platform.fixture.ts';
import { createDeviceHttpClient } from './http-client.ts';

const connectionsMax = 16;
let certificates: TestCertificates;
let platform: FakePlatform;
let http: HttpClient;

before(async () => {
  certificates = await testCertificates();
});
beforeEach(async () => {
  platform = await startFakePlatform(certificates);
  http = createDeviceHttpClient({ ca: certificates.ca, ...certificates.device });
});
afterEach(async () => {
  http.close();
  await platform.stop();
});

const isFault = (kind: string, code: string) => (error: unknown) =>
  error instanceof DeviceError && error.kind === kind && error.code === code;
const sendRequest = (name: string, more = {}) =>
  http.request({ method: 'POST', url: `${platform.url}/${name}`, body: name, ...more });

describe('calls over persistent connections', () => {
  test('a queued request that was sent is Unknown if its response is lost', async () => {
    platform.answer = ({ path }) =>
      path === '/last' ? (raw) => raw.destroy() : { status: 200, body: {} };
    const first = Array.from({ length: connectionsMax }, (_, at) => sendRequest(`${at}`));
    const lost = sendRequest('last');
    await assert.rejects(lost, isFault('Unknown', 'no_answer'));
    for (const { status } of await Promise.all(first)) assert.equal(status, 200);
    assert.equal(platform.requests.filter(({ path }) => path === '/last').length, 1);
  });

  test('a request queued behind other requests is sent as well', async () => {
    let open = 0;
    platform.answer = ({ path }) => {
      open += 1;
      return path === '/last' ? (raw) => raw.destroy() : { status: 200, body: {} };
    };
    const first = Array.from({ length: 3 * connectionsMax }, (_, at) => sendRequest(`${at}`));
    await assert.rejects(sendRequest('last'), isFault('Unknown', 'no_answer'));
    await Promise.all(first);
    assert.equal(open, 3 * connectionsMax + 1);
  });

  test('a request aborted while it waits for a connection was not sent', async () => {
    const pendingResponses: (() => void)[] = [];
    platform.answer = () => (raw) => void pendingResponses.push(() => raw.end());
    const first = Array.from({ length: connectionsMax }, (_, at) => sendRequest(`${at}`));
    const stop = new AbortController();
    const waiting = sendRequest('waiting', { signal: stop.signal });
    const ended = assert.rejects(waiting, isFault('Aborted', 'aborted'));
    while (pendingResponses.length < connectionsMax)
      await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    for (const answer of pendingResponses) answer();
    await Promise.all([ended, ...first]);
    assert.ok(!platform.requests.some(({ path }) => path === '/waiting'));
  });

  test('a request without a completed handshake was not sent', async (t) => {
    const server: Server = createServer((socket) => {
      t.after(() => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const url = `https://localhost:${port}/`;
    const pending = http.request({ method: 'GET', url, timeoutMs: 300 });
    await assert.rejects(pending, isFault('NotSent', 'unreachable'));
  });
});
