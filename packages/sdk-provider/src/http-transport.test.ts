// Requests over real sockets: trusted and untrusted TLS, timeouts, long responses and redirects.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { randomUUID, webcrypto } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { ProviderEvent } from '@switchyard/contract';
import { createEventsClient, type SendResult } from './events-client.ts';

const event: ProviderEvent = {
  eventId: randomUUID(),
  sequence: 1,
  type: 'payment.completed',
  occurredAt: '2026-03-01T12:30:00.000Z',
  providerTransactionId: 'P-1',
};
const dayMs = 86_400_000;

async function listening(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function sent(
  t: TestContext,
  base: string,
  options: { ca?: string; timeoutMs?: number } = {},
): Promise<SendResult> {
  const client = createEventsClient({ baseUrl: base, token: 'known', ...options });
  t.after(() => client.close());
  return client.send(`${base}/events`, event);
}

async function plain(t: TestContext, listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(t, createServer(listener))}`;
}

/** A self-signed certificate for `localhost`. */
async function certificate(): Promise<{ cert: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=localhost',
      keys,
      signingAlgorithm: algorithm,
      notBefore: new Date(Date.now() - dayMs),
      notAfter: new Date(Date.now() + dayMs),
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])],
    },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: made.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

describe('requests to the platform', () => {
  it('are sent only to servers with a trusted certificate', async (t) => {
    const [own, other] = await Promise.all([certificate(), certificate()]);
    const bodies: string[] = [];
    const server = createTlsServer(own, (request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(String(chunk)));
      request.on('end', () => response.writeHead(202).end());
    });
    const base = `https://localhost:${await listening(t, server)}`;
    const acknowledged = { outcome: 'Acknowledged', isDuplicate: false };
    assert.deepEqual(await sent(t, base, { ca: own.cert }), acknowledged);
    assert.deepEqual(JSON.parse(bodies.join('')), event);
    for (const ca of [{ ca: other.cert }, {}]) {
      assert.equal((await sent(t, base, ca)).outcome, 'Unsent');
    }
    assert.equal(bodies.length, 1);
  });

  it('end without a response, and after a response that never ends', async (t) => {
    const hangs = await plain(t, () => {});
    assert.equal((await sent(t, hangs, { timeoutMs: 100 })).outcome, 'Unsent');
    const drips = await plain(t, (_request, response) => {
      response.writeHead(202).write(' ');
    });
    assert.equal((await sent(t, drips, { timeoutMs: 100 })).outcome, 'Unsent');
    const floods = await plain(t, (_request, response) => {
      response.writeHead(500).end('x'.repeat(70_000));
    });
    assert.deepEqual(await sent(t, floods), {
      outcome: 'Unsent',
      fault: 'the response is too long',
    });
  });

  it('follow no redirect and return Retry-After', async (t) => {
    let elsewhere = 0;
    const other = await plain(t, (_request, response) => {
      elsewhere += 1;
      response.writeHead(202).end();
    });
    const redirects = await plain(t, (_request, response) => {
      response.writeHead(307, { location: `${other}/events` }).end();
    });
    assert.deepEqual(await sent(t, redirects), { outcome: 'Unsent', fault: 'status 307' });
    assert.equal(elsewhere, 0);
    const busy = await plain(t, (_request, response) => {
      response.writeHead(429, { 'retry-after': '90' }).end();
    });
    assert.deepEqual(await sent(t, busy), {
      outcome: 'Unsent',
      fault: 'status 429',
      retryAfterMs: 90_000,
    });
    const dated = await plain(t, (_request, response) => {
      response.writeHead(503, { 'retry-after': 'Sun, 01 Mar 2026 12:30:00 GMT' }).end();
    });
    assert.deepEqual(await sent(t, dated), { outcome: 'Unsent', fault: 'status 503' });
  });
});
