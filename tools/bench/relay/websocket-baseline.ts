// The baseline of the relay: `ws` that forwards each message to the other end, and checks nothing.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { offerFunctions } from '../bench-process.ts';

/** The end of a pair that came first, until the other one comes. */
const waiting = new Map<string, WebSocket>();

function pass(from: WebSocket, to: WebSocket): void {
  from.on('message', (data, isBinary) => {
    if (to.readyState === WebSocket.OPEN) to.send(data, { binary: isBinary });
  });
  from.on('close', () => to.terminate());
}

/** @param certificate without it, the sockets are not encrypted */
function listen(certificate: { cert: string; key: string } | null): Promise<number> {
  const server = certificate === null ? createServer() : createTlsServer(certificate);
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
  return new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
}

const functions = { listen };
export type RelayBaselineFunctions = typeof functions;

offerFunctions(functions);
