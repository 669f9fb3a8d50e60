// A webhook receiver on a real socket: it records deliveries, and the test controls its responses.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export type Received = {
  readonly id: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
};

export type Answering = (
  received: Received,
  reply: ServerResponse,
  request: IncomingMessage,
) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  answer(how: Answering): void;
  stop(): Promise<void>;
};

export const accept: Answering = (_received, reply) => void reply.writeHead(204).end();
export const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (_received, reply) =>
    void reply.writeHead(status, headers).end(body);

export async function receiver(
  first: Answering = accept,
  tls?: { readonly cert: string; readonly key: string; readonly host: string },
  at = 0,
): Promise<Receiver> {
  let how = first;
  const received: Received[] = [];
  const listener = (request: IncomingMessage, reply: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { headers, url: path = '' } = request;
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { id: String(headers['webhook-id']), body, headers, path };
      received.push(one);
      how(one, reply, request);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: tls === undefined ? `http://127.0.0.1:${port}/hooks` : `https://${tls.host}:${port}/hooks`,
    port,
    received,
    answer(next) {
      how = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Verifies with the public library of Standard Webhooks. */
export function assertGenuine({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Verifies `v1a` signatures by the text of the standard, because that library does not support
 * them.
 */
export function isGenuineByKey({ body, headers }: Received, publicKey: string): boolean {
  const raw = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64');
  const key = createPublicKey({
    key: Buffer.concat([spkiHead, raw]),
    format: 'der',
    type: 'spki',
  });
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const signatures = String(headers['webhook-signature'])
    .split(' ')
    .filter((one) => one.startsWith('v1a,'));
  assert.ok(signatures.length > 0, 'signed by a key pair');
  return signatures.some((one) =>
    verify(null, signed, key, Buffer.from(one.slice('v1a,'.length), 'base64')),
  );
}
