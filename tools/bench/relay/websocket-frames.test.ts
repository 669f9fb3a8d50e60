// The frames of the load are those of `ws`, both ways, however they are cut.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { openSocket } from './relay-socket.ts';
import { createFrameReader, encodeFrame, opcodes } from './websocket-frames.ts';

/** As servers send it: without a mask. */
function sent(opcode: number, payload: Buffer): Buffer {
  const masked = encodeFrame(opcode, payload);
  const size = masked.length - payload.length - 4;
  const head = Buffer.from(masked.subarray(0, size));
  head[1] = (head[1] ?? 0) & 127;
  return Buffer.concat([head, payload]);
}

test('frames are parsed from chunks of any size', () => {
  const sizes = [0, 1, 125, 126, 512, 4096, 65_535, 65_536, 200_000];
  const all = Buffer.concat([
    ...sizes.map((size) => sent(opcodes.text, Buffer.alloc(size, 'a'))),
    sent(opcodes.ping, Buffer.from('p')),
    sent(opcodes.close, Buffer.from([0x0f, 0xa1])),
  ]);
  for (const step of [1, 3, 7, 1000, 65_536, all.length]) {
    const events: unknown[] = [];
    const read = createFrameReader(step % 2 === 1, {
      message: (bytes, text) => events.push(step % 2 === 1 ? text.length : bytes),
      ping: (payload) => events.push(payload.toString()),
      close: (code) => events.push(code),
    });
    for (let at = 0; at < all.length; at += step) read(all.subarray(at, at + step));
    assert.deepEqual(events, [...sizes, 'p', 4001], `in pieces of ${step}`);
  }
});

test('a load socket communicates with a server of the package ws', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      socket.send(data, { binary: isBinary });
      socket.ping('still there?');
    });
    socket.on('pong', (data) => socket.close(4001, data));
  });
  const heard: string[] = [];
  const target = { port, authority: `localhost:${port}` };
  const socket = await openSocket(target, '/', { keepsText: true });
  socket.onMessage = (_bytes, text) => heard.push(text);
  const closed = new Promise((resolve) => {
    socket.onClose = resolve;
  });
  socket.write(encodeFrame(opcodes.text, 'a word — and another'));
  assert.equal(await closed, 4001);
  assert.deepEqual(heard, ['a word — and another']);
});

test('a refused handshake reports its status', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', verifyClient: () => false });
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const target = { port, authority: `localhost:${port}` };
  await assert.rejects(openSocket(target, '/'), /HTTP\/1.1 401/);
});
