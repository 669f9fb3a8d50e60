// A small platform for tests, over real TLS with client certificates; tests set its answers.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as textIn } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import type { TestCertificates } from './certificates.fixture.ts';

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly token: string | undefined;
  readonly shown: string | undefined;
  readonly headers: IncomingMessage['headers'];
};

/** A status with JSON, or a function that handles the connection. */
export type Told =
  | { readonly status: number; readonly body?: unknown }
  | ((raw: ServerResponse) => void);

export type TestPlatform = {
  readonly url: string;
  readonly asked: Asked[];
  answer: (asked: Asked) => Told;
  stop(): Promise<void>;
};

export const problem = (status: number, code: string, more: object = {}): Told => ({
  status,
  body: { code, status, detail: code, outcome: 'NotProcessed', retryable: false, ...more },
});

export async function testPlatform(certificates: TestCertificates): Promise<TestPlatform> {
  const { ca, server: own } = certificates;
  const options = { ...own, ca, requestCert: true, rejectUnauthorized: false };
  const platform: TestPlatform = {
    url: '',
    asked: [],
    answer: () => ({ status: 404 }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  const server = createServer(options, (request, response) => {
    void textIn(request).then((body) => {
      const asked: Asked = {
        method: request.method ?? '',
        path: request.url ?? '',
        body,
        token: request.headers.authorization?.replace('Bearer ', ''),
        shown: (request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString(),
        headers: request.headers,
      };
      platform.asked.push(asked);
      const told = platform.answer(asked);
      if (typeof told === 'function') return told(response);
      response.writeHead(told.status, { 'content-type': 'application/json' });
      response.end(told.body === undefined ? '' : JSON.stringify(told.body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(platform, { url: `https://localhost:${port}` });
}
