// Calls of a device whose network breaks: a request that may have arrived is never reported as not sent.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ClientRequest, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ensureCertificate } from '../connections/listener-certificate.ts';
import { createDeviceClient } from './device-http-client.ts';
import { connectTerminalPlatform } from './payments-api.ts';

const closing: (() => void)[] = [];
after(() => {
  for (const close of closing.reverse()) close();
});

/** A platform that issues tokens; `end` ends each other call. */
async function open(end: (call: ClientRequest | undefined, response: ServerResponse) => void) {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-calls-'));
  const { cert, key } = ensureCertificate(directory, ['127.0.0.1'], Date.now());
  const had: string[] = [];
  let last: ClientRequest | undefined;
  const see = (message: unknown) => {
    last = (message as { request: ClientRequest }).request;
  };
  subscribe('http.client.request.start', see);
  const server = createServer({ cert, key }, (request, response) => {
    const path = request.url?.split('?')[0];
    request.resume().on('end', () => {
      if (path === '/oauth2-mtls/v1/merchants-credentials') {
        response.end(JSON.stringify([{ clientId: 'device-1', clientSecret: 'secret' }]));
      } else if (path === '/oauth2-mtls/v1/token') {
        response.end(JSON.stringify({ access_token: 'token', expires_in: 3600 }));
      } else {
        had.push(`${request.method} ${path}`);
        end(last, response);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const facts = { baseUrl, deviceAuthUrl: baseUrl, cert, key, ca: cert, serialNumber: '1' };
  const calls = createDeviceClient(facts, { now: Date.now });
  closing.push(() => {
    unsubscribe('http.client.request.start', see);
    calls.close();
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { calls, had, facts };
}

for (const code of ['EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET']) {
  test(`after ${code} on an open connection the outcome of the request is Unknown`, async () => {
    const { calls, had } = await open((call) =>
      call?.socket?.destroy(Object.assign(new Error(code), { code })),
    );
    assert.deepEqual(await calls.call('POST', '/sell', {}), { outcome: 'Unknown' });
    assert.deepEqual(had, ['POST /sell']);
  });
}

test('where no connection is made, nothing was sent', async () => {
  const { calls, had, facts } = await open(() => undefined);
  assert.ok(await calls.token());
  // No server listens on this port, and the system does not assign it.
  const elsewhere = { ...facts, baseUrl: 'https://127.0.0.1:1' };
  const unreachable = createDeviceClient(elsewhere, { now: Date.now });
  closing.push(() => unreachable.close());
  assert.deepEqual(await unreachable.call('POST', '/sell', {}), { outcome: 'NotSent' });
  assert.deepEqual(had, []);
});

test('the client returns a transaction_not_found response together with the merchant of the terminal', async () => {
  const { facts } = await open((_, response) => {
    response.writeHead(404);
    response.end(JSON.stringify({ code: 'transaction_not_found', outcome: 'NotProcessed' }));
  });
  const platform = connectTerminalPlatform(facts, Date.now);
  closing.push(() => platform.close());
  assert.equal(await platform.merchant(), 'device-1');
  assert.deepEqual(await platform.findTransaction('T-1'), {
    outcome: 'Refused',
    status: 404,
    code: 'transaction_not_found',
    merchant: 'device-1',
  });
});
