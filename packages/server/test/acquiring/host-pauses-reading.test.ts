// An abandoned connection: unread bytes do not reach a host that reads again later.
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { builtInHosts, compileHost, createDeframer, encodeFrame } from '@switchyard/iso8583';
import { openHostConnection } from '../../src/acquiring/iso8583-host/host-connection.ts';
import { createMessageFraming } from '../../src/acquiring/iso8583-host/message-framing-and-mac.ts';
import {
  type MadeCertificate,
  makeCertificate,
} from '../../src/http/authentication/certificate.fixture.ts';
import { createAddressGuard, createLog } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

const spoken = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const framing = { length: 'binary2' } as const;
const nameLength = 8;
const parcelBytes = 4000;
const unreadPaymentsMax = 262_144;
const turnsPerWrite = 3;

/** Accepts a connection and reads nothing until the test calls `readAll`. */
async function startDeafHost(t: TestContext, certificate?: MadeCertificate) {
  const sockets: Socket[] = [];
  const accept = (socket: Socket) => {
    socket.pause();
    socket.on('error', () => {});
    sockets.push(socket);
  };
  const server =
    certificate === undefined ? createServer(accept) : createTlsServer(certificate, accept);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  t.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    port: address.port,
    isTaken: () => sockets.length > 0,
    /** The names of all messages until the connection closes. */
    async readAll(): Promise<string[]> {
      const [socket] = sockets;
      assert.ok(socket);
      const deframer = createDeframer(framing, { maxBytes: 2 * parcelBytes });
      const names: string[] = [];
      socket.on('data', (chunk: Buffer) => {
        for (const { payload } of deframer.push(chunk)) {
          names.push(payload.toString('latin1', 0, nameLength));
        }
      });
      const over = new Promise((resolve) => socket.once('close', resolve));
      socket.resume();
      await over;
      return names;
    },
  };
}

/**
 * Sends to a host that does not read until the connection is abandoned; returns the messages that
 * the system had accepted.
 */
async function abandonedRequests(t: TestContext, how: { tls: boolean; mayLieUnread: boolean }) {
  const certificate = how.tls ? await makeCertificate('acquirer') : undefined;
  const host = await startDeafHost(t, certificate);
  let isOpen = false;
  let isLost = false;
  const connection = openHostConnection({
    addressGuard,
    host: 'localhost',
    port: host.port,
    tls: how.tls,
    log,
    tlsIdentity: certificate && { ...certificate, ca: certificate.cert },
    framing: createMessageFraming({ host: spoken, listMacKeyRefs: () => [] }),
    reconnectDelaysMs: [60_000],
    maxUnreadPaymentBytes: unreadPaymentsMax,
    hasUnconfirmedPayment: () => how.mayLieUnread,
    onOpen() {
      isOpen = true;
    },
    onPayload() {},
    onLost() {
      isLost = true;
    },
  });
  t.after(connection.close);
  await eventually('connected', () => isOpen && host.isTaken());
  const receivedMessages: string[] = [];
  for (let number = 0; !isLost; number += 1) {
    const name = String(number).padStart(nameLength, '0');
    const bytes = encodeFrame(framing, Buffer.from(name.padEnd(parcelBytes, 'x')));
    connection.enqueue({
      bytes,
      onWriteStarted: () => {},
      onWritten: () => receivedMessages.push(name),
    });
    for (
      let connectionNumber = 0;
      connectionNumber < turnsPerWrite && number % 8 === 0;
      connectionNumber += 1
    ) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { taken: receivedMessages, heard: await host.readAll() };
}

describe('a host that pauses reading', () => {
  for (const tls of [false, true]) {
    const over = tls ? 'TLS' : 'TCP';

    test(`over ${over}, the host does not receive requests that the platform gave up`, async (t) => {
      const { taken: receivedMessages, heard: receivedTypes } = await abandonedRequests(t, {
        tls,
        mayLieUnread: true,
      });
      const last = receivedMessages.at(-1) ?? assert.fail('nothing was taken');
      assert.ok(
        receivedTypes.length < receivedMessages.length,
        `${receivedTypes.length} of ${receivedMessages.length}`,
      );
      assert.ok(!receivedTypes.includes(last));
    });

    test(`over ${over}, the host receives the remaining requests after it answered the earlier ones`, async (t) => {
      const { taken: receivedMessages, heard: receivedTypes } = await abandonedRequests(t, {
        tls,
        mayLieUnread: false,
      });
      assert.deepEqual(receivedTypes.slice(0, receivedMessages.length), receivedMessages);
    });
  }
});

test('an invalid certificate is reported at once, and the process survives the response of the host', async (t) => {
  const certificate = await makeCertificate('acquirer');
  const host = await startDeafHost(t, certificate);
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  assert.throws(
    () =>
      openHostConnection({
        addressGuard,
        host: 'localhost',
        port: host.port,
        tls: true,
        log,
        tlsIdentity: { ...certificate, cert: certificate.cert + broken },
        framing: createMessageFraming({ host: spoken, listMacKeyRefs: () => [] }),
        reconnectDelaysMs: [60_000],
        hasUnconfirmedPayment: () => false,
        onOpen() {},
        onPayload() {},
        onLost() {},
      }),
    /error|PEM|asn1/i,
  );
  assert.equal(host.isTaken(), false);
});
