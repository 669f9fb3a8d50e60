// A provider of QR payments without delay, and the bare line: a server that hands each call on to it, and no more.
import { Agent, createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export type ToQrProvider = { type: 'bare'; cert: string; key: string };
export type FromQrProvider = { type: 'listening'; port: number } | { type: 'bare'; port: number };

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

function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => resolve(Buffer.concat(parts).toString()));
    stream.on('error', reject);
  });
}

const provider = createServer((incoming, response) => {
  void readAll(incoming).then((text) => {
    const body = JSON.stringify(answerOf(incoming.url ?? '', text));
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});

/** What a create would cost that stores nothing, checks nothing and signs nothing. */
function openBare(port: number, { cert, key }: ToQrProvider) {
  const server = createTlsServer({ cert, key }, (incoming, response) => {
    void readAll(incoming).then((text) => {
      const { clientTransactionId } = JSON.parse(text) as { clientTransactionId: string };
      const body = JSON.stringify({ platformTransactionId: clientTransactionId });
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const sent = request({ port, method: 'POST', path: '/qr-payments', agent, headers });
      sent.on('error', (error) => response.destroy(error));
      sent.on('response', (answer) => {
        void readAll(answer).then((answerText) => {
          response.writeHead(200, {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(answerText),
          });
          response.end(answerText);
        });
      });
      sent.end(body);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ type: 'bare', port: (server.address() as AddressInfo).port });
  });
}

provider.listen(0, '127.0.0.1', () => {
  const { port } = provider.address() as AddressInfo;
  process.send?.({ type: 'listening', port });
  process.on('message', (message: ToQrProvider) => openBare(port, message));
});
