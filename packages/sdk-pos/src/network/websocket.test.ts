// Whole run: much is made, or waited for, before it shows.
// A WebSocket of a till to a peer that has stopped answering.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openWebsocket, systemClock, type WebsocketClose } from '@switchyard/sdk-core';
import { steppedClock } from '@switchyard/sdk-core/testing';
import { waitUntil } from '../testing/wait-until.fixture.ts';
import { websocketErrors } from './websocket-options.ts';

const errors = websocketErrors;
/** RFC 6455: the server computes the handshake response with this value. */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

test('a peer that does not answer a close frame is disconnected after the handshake time', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer();
  server.on('upgrade', ({ headers }, socket: Socket) => {
    sockets.push(socket);
    const accepted = hash('sha1', `${headers['sec-websocket-key']}${guid}`, 'base64');
    socket.write(
      `HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { promise: ended, resolve } = Promise.withResolvers<WebsocketClose>();
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const limits = { timeoutMs: 5_000, maxMessageBytes: 1_000, clock: systemClock, errors };
  const socket = await openWebsocket(
    { url, tls: {}, ...limits },
    { onMessage: () => {}, onClose: resolve },
  );
  const over = new AbortController();
  // The `ws` library would wait for half a minute.
  const late = systemClock.wait(15_000, over.signal).then(() => undefined);
  socket.close(1000);
  const end = await Promise.race([ended, late]);
  over.abort();
  assert.notEqual(end, undefined, 'it is still waited for');
});

/** Refuses each handshake, and sends one byte of a body of a hundred. */
async function refusingServer(t: TestContext, afterwards: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer();
  server.on('upgrade', (_request, socket: Socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\n{', () => afterwards(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const refused = { code: 'http_403', message: 'the handshake was answered with 403' };
const listeners = { onMessage: () => {}, onClose: () => {} };

test('a rejected handshake with an incomplete body keeps its status', async (t) => {
  const url = await refusingServer(t, (socket) => socket.end());
  const target = {
    url,
    tls: {},
    timeoutMs: 5_000,
    maxMessageBytes: 1_000,
    clock: systemClock,
    errors,
  };
  await assert.rejects(openWebsocket(target, listeners), refused);
});

test('a rejected handshake with an endless body keeps its status after the handshake time', async (t) => {
  const url = await refusingServer(t, () => {});
  const clock = steppedClock();
  let responses = 0;
  const count = () => {
    responses += 1;
  };
  diagnostics.subscribe('http.client.response.finish', count);
  t.after(() => diagnostics.unsubscribe('http.client.response.finish', count));
  const target = { url, tls: {}, timeoutMs: 5_000, maxMessageBytes: 1_000, clock, errors };
  const ended = assert.rejects(openWebsocket(target, listeners), refused);
  await waitUntil(() => responses > 0, 'the head of the refusal');
  clock.advance(5_000);
  await ended;
});

test('a rejected handshake during an abort is an abort', async (t) => {
  const stop = new AbortController();
  const url = await refusingServer(t, () => stop.abort());
  const target = {
    url,
    tls: {},
    timeoutMs: 5_000,
    maxMessageBytes: 1_000,
    clock: systemClock,
    errors,
  };
  await assert.rejects(openWebsocket({ ...target, signal: stop.signal }, listeners), {
    code: 'aborted',
  });
});
