// The bare line of the relay: `ws` that hands each message on to the other end, and checks nothing.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

export type ToRelayBaseline = { cert?: string; key?: string };
export type FromRelayBaseline = { port: number };

/** The end of a pair that came first, until the other one comes. */
const waiting = new Map<string, WebSocket>();

function pass(from: WebSocket, to: WebSocket): void {
  from.on('message', (data, isBinary) => {
    if (to.readyState === WebSocket.OPEN) to.send(data, { binary: isBinary });
  });
  from.on('close', () => to.terminate());
}

function open({ cert, key }: ToRelayBaseline): void {
  const server =
    cert === undefined || key === undefined ? createServer() : createTlsServer({ cert, key });
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
  sockets.on('connection', (socket, request) => {
    const name = (request.url ?? '').split('/').at(-1) ?? '';
    socket.on('error', () => {});
    const other = waiting.get(name);
    if (other === undefined) {
      waiting.set(name, socket);
      return;
    }
    waiting.delete(name);
    pass(socket, other);
    pass(other, socket);
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
    const { port } = server.address() as AddressInfo;
    process.send?.({ port } satisfies FromRelayBaseline);
  });
}

process.once('message', (message: ToRelayBaseline) => open(message));
process.on('disconnect', () => process.exit(0));
