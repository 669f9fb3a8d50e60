// DNS rebinding: a name that resolves to a public address first and to a private one later gets no
// connection.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { builtInHosts, compileHost } from '@switchyard/iso8583';
import { createAcquirerHttpClient } from '../../src/acquiring/http-json/acquirer-http-client.ts';
import { openHostConnection } from '../../src/acquiring/iso8583-host/host-connection.ts';
import { createMessageFraming } from '../../src/acquiring/iso8583-host/message-framing-and-mac.ts';
import { createAddressGuard, createLog, createOutgoingCalls } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const compiledHost = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });

/** A guard that lets a connection through would show it within this time. */
const limitMs = 10_000;

/**
 * A service on loopback that counts its connections, in the role of a database or a metadata
 * service.
 */
async function startPrivateService(t: TestContext) {
  const server = createServer((_request, response) => response.end('secret'));
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, countConnections: () => connections };
}

/** Resolves to a public address at the first lookup, and to loopback at each later one. */
function rebindingLookup() {
  let lookups = 0;
  return {
    countLookups: () => lookups,
    async lookup() {
      lookups += 1;
      return [{ address: lookups === 1 ? '8.8.8.8' : '127.0.0.1', family: 4 }];
    },
  };
}

async function savedGuard() {
  const { lookup, countLookups } = rebindingLookup();
  const addressGuard = createAddressGuard({ allowsLoopback: false, lookup });
  assert.equal(await addressGuard.resolveHostFault('rebind.example', 443), undefined);
  return { addressGuard, countLookups };
}

function openConnection(
  t: TestContext,
  target: { host: string; port: number; addressGuard: ReturnType<typeof createAddressGuard> },
) {
  let losses = 0;
  let opens = 0;
  const connection = openHostConnection({
    ...target,
    tls: false,
    log,
    framing: createMessageFraming({ host: compiledHost, listMacKeyRefs: () => [] }),
    reconnectDelaysMs: [10],
    hasUnconfirmedPayment: () => false,
    onOpen() {
      opens += 1;
    },
    onPayload() {},
    onLost() {
      losses += 1;
    },
  });
  t.after(connection.close);
  return async () => {
    const isDecided = () => losses >= 3 || opens > 0;
    await eventually('three refused connections', isDecided, limitMs);
    assert.equal(opens, 0, 'the link connected to loopback');
  };
}

// Spec: SET-9
test('an ISO 8583 link does not connect when its host name resolves to loopback, at any reconnect', async (t) => {
  const service = await startPrivateService(t);
  const { addressGuard, countLookups } = await savedGuard();
  const target = { host: 'rebind.example', port: service.port, addressGuard };
  const awaitRefusals = openConnection(t, target);
  await awaitRefusals();
  assert.ok(countLookups() >= 4);
  assert.equal(service.countConnections(), 0);
});

test('an ISO 8583 link does not connect to an IP address that is no longer allowed', async (t) => {
  const service = await startPrivateService(t);
  const addressGuard = createAddressGuard({ allowsLoopback: false });
  const target = { host: '127.0.0.1', port: service.port, addressGuard };
  const awaitRefusals = openConnection(t, target);
  await awaitRefusals();
  assert.equal(service.countConnections(), 0);
});

test('an HTTP acquirer on loopback gets no request, by host name or by address', async (t) => {
  const service = await startPrivateService(t);
  for (const host of ['rebind.example', '127.0.0.1']) {
    const { addressGuard } = await savedGuard();
    const client = createAcquirerHttpClient({
      addressGuard,
      host,
      port: service.port,
      tls: false,
      lateResponseWindowMs: 100,
    });
    t.after(client.close);
    const result = await client.post({ path: '/', headers: {}, body: '{}', timeoutMs: limitMs });
    const expected = { result: 'NotSent', reason: 'no connection: ADDRESS_REFUSED' };
    assert.deepEqual(result, expected, host);
  }
  assert.equal(service.countConnections(), 0);
});

test('a webhook is not sent when its host name resolves to loopback after the endpoint was stored', async (t) => {
  const service = await startPrivateService(t);
  const { lookup } = rebindingLookup();
  const calls = createOutgoingCalls({ allowsLoopback: false, lookup, timeoutMs: limitMs });
  t.after(calls.close);
  const url = `https://rebind.example:${service.port}/`;
  assert.equal(await calls.findAddressFault(url), undefined);
  const { fault } = await calls.post(url, { headers: {}, body: '{}' });
  assert.equal(fault, 'address_refused');
  assert.equal(service.countConnections(), 0);
});
