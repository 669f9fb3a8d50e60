// A connection that breaks during the response: a repeated request gets the lost response.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import { createRandom } from './load-during-faults.ts';

const base = '/payment/v1/transactions';
const rounds = sizeOfRun({ small: 4, full: 60 });
const atOnce = 8;

/** The number of response bytes that pass, by the position of the break. */
const cutPositions: Readonly<Record<string, (next: () => number) => number>> = {
  'before the first byte': () => 0,
  'in the head of the first record': () => 3,
  'in the status line': () => 5 + 12,
  'among the headers': (next) => 30 + Math.floor(next() * 400),
  'in the body': (next) => 500 + Math.floor(next() * 900),
  'late in the body': (next) => 1400 + Math.floor(next() * 1200),
};

type Relay = { readonly port: number; cutAfter(bytes: number): void; close(): Promise<void> };

/** A relay that passes all bytes until the test limits the bytes of the response. */
async function openRelay(to: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let bytesLeft = Number.POSITIVE_INFINITY;
  const server = createServer((inner) => {
    const outer = connect(to, 'localhost');
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    inner.on('data', (chunk: Buffer) => outer.write(chunk));
    outer.on('data', (chunk: Buffer) => {
      const through = chunk.subarray(0, Math.min(bytesLeft, chunk.length));
      bytesLeft -= chunk.length;
      if (through.length > 0) inner.write(through);
      if (bytesLeft < 0) inner.end(() => inner.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    port: address.port,
    cutAfter(bytes) {
      bytesLeft = bytes;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Sends one request and reads until the connection closes. */
async function loseResponse(
  setup: TestOrganization,
  path: string,
  body: unknown,
  bytes: number,
): Promise<string> {
  const { port } = new URL(setup.settings.baseUrl);
  const relay = await openRelay(Number(port));
  try {
    const socket = connectTls({
      host: '127.0.0.1',
      port: relay.port,
      servername: 'localhost',
      ca: setup.ca,
    });
    let text = '';
    let isRequestSent = false;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      // Closes the connection after a complete response.
      if (isRequestSent && isWhole(text)) socket.destroy();
    });
    await new Promise((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
    });
    const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    // This request first reads the TLS messages that the server sends after the handshake.
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    text = '';
    isRequestSent = true;
    relay.cutAfter(bytes);
    const raw = JSON.stringify(body);
    const head = [
      `POST ${base}${path} HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${setup.merchant.token}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(raw)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${raw}`);
    await over;
    return text;
  } finally {
    await relay.close();
  }
}

/** Whether the response is complete, so that nothing was lost. */
function isWhole(text: string): boolean {
  const [head = '', body] = text.split('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
  return body !== undefined && body.length >= length;
}

const sendRequest = (setup: TestOrganization, path: string, body: unknown): Promise<HttpResponse> =>
  setup.client.call('POST', base + path, { token: setup.merchant.token, body });

describe(`lost responses (seed ${seed})`, { concurrency: false }, () => {
  // Spec: INV-22
  test('a repeated sale and refund get the same responses, and are done once', {
    timeout: 300_000,
  }, async () => {
    const setup = await createTestOrganization();
    const next = createRandom(seed);
    const cuts = Array.from({ length: rounds }, () => Object.entries(cutPositions)).flat();
    let lost = 0;
    const one = async ([position, bytesOf]: (typeof cuts)[number]) => {
      const sale = keyedSale({ amount: 1000 + Math.floor(next() * 5000) });
      const id = String(sale['clientTransactionId']);
      if (!isWhole(await loseResponse(setup, '/process', sale, bytesOf(next)))) lost += 1;
      const again = await sendRequest(setup, '/process', sale);
      assert.deepEqual(
        [again.status, again.body.state],
        [200, 'Captured'],
        `${position} ${again.text}`,
      );
      const third = await sendRequest(setup, '/process', sale);
      assert.equal(third.headers['idempotent-replayed'], 'true', position);
      assert.deepEqual(third.body, again.body, position);
      const refund = { amount: 100, clientOperationId: randomUUID() };
      if (!isWhole(await loseResponse(setup, `/${id}/refund`, refund, bytesOf(next)))) lost += 1;
      const refundReplay = await sendRequest(setup, `/${id}/refund`, refund);
      assert.deepEqual(
        [refundReplay.status, refundReplay.body.refundedAmount],
        [200, 100],
        `${position} ${refundReplay.text}`,
      );
    };
    const worker = async () => {
      for (let cut = cuts.pop(); cut !== undefined; cut = cuts.pop()) await one(cut);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const books = await assertAgreement(setup);
    const all = rounds * Object.keys(cutPositions).length;
    assert.equal(books.length, all);
    for (const { position } of books) assert.equal(position.refunded, 100);
    assert.ok(lost > all, `${lost} of ${all * 2} answers were lost`);
    printResult(`${lost} of ${all * 2} answers lost`);
  });
});
