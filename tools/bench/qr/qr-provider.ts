// A provider of QR payments without delay, and the baseline: a server that only forwards each call to it.
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { offerFunctions } from '../bench-process.ts';

const display = { type: 'url', data: 'https://pay.example/c/1' };
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

function answerOf(path: string, text: string): object {
  const paymentId = /^\/qr-payments\/([^/]+)$/.exec(path)?.[1];
  if (paymentId !== undefined)
    return { providerTransactionId: `P-${paymentId}`, status: 'Pending' };
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (body['type'] === 'service.activation_requested') return { status: 'Accepted' };
  const id = body['platformTransactionId'];
  return id === undefined
    ? { status: 'Up' }
    : { providerTransactionId: `P-${String(id)}`, status: 'Pending', display };
}

function reply(response: ServerResponse, body: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(200, headers).end(body);
}

const provider = createServer((incoming, response) => {
  void readAll(incoming).then((text) => {
    reply(response, JSON.stringify(answerOf(incoming.url ?? '', text)));
  });
});

/** A server that stores nothing, checks nothing and signs nothing. */
function createBaseline(port: number, certificate: { cert: string; key: string }) {
  return createTlsServer(certificate, (incoming, response) => {
    void readAll(incoming).then((text) => {
      const { clientTransactionId } = JSON.parse(text) as { clientTransactionId: string };
      const body = JSON.stringify({ platformTransactionId: clientTransactionId });
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const sent = request({ port, method: 'POST', path: '/qr-payments', agent, headers });
      sent.on('error', (error) => response.destroy(error));
      sent.on('response', (answer) => {
        void readAll(answer).then((answerText) => reply(response, answerText));
      });
      sent.end(body);
    });
  });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const functions = {
  openProvider: () => listen(provider),
  openBaseline: (certificate: { cert: string; key: string }) => {
    const { port } = provider.address() as AddressInfo;
    return listen(createBaseline(port, certificate));
  },
};
export type QrProviderFunctions = typeof functions;

offerFunctions(functions);
