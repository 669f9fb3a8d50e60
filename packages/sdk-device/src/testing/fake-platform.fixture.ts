// A small platform for tests, over real TLS with client certificates; tests set its answers.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as textIn } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import type { TestCertificates } from './certificates.fixture.ts';

export type ReceivedRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly token: string | undefined;
  readonly certificateName: string | undefined;
  readonly headers: IncomingMessage['headers'];
};

/** A status with JSON, or a function that handles the connection. */
export type FakeAnswer =
  | { readonly status: number; readonly body?: unknown }
  | ((raw: ServerResponse) => void);

export type FakePlatform = {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  answer: (request: ReceivedRequest) => FakeAnswer;
  stop(): Promise<void>;
};

export const problem = (status: number, code: string, more: object = {}): FakeAnswer => ({
  status,
  body: { code, status, detail: code, outcome: 'NotProcessed', retryable: false, ...more },
});

export async function startFakePlatform(certificates: TestCertificates): Promise<FakePlatform> {
  const { ca, server: serverIdentity } = certificates;
  const options = { ...serverIdentity, ca, requestCert: true, rejectUnauthorized: false };
  const platform: FakePlatform = {
    url: '',
    requests: [],
    answer: () => ({ status: 404 }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  const server = createServer(options, (request, response) => {
    void textIn(request).then((body) => {
      const received: ReceivedRequest = {
        method: request.method ?? '',
        path: request.url ?? '',
        body,
        token: request.headers.authorization?.replace('Bearer ', ''),
        certificateName: (request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString(),
        headers: request.headers,
      };
      platform.requests.push(received);
      const answer = platform.answer(received);
      if (typeof answer === 'function') return answer(response);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(platform, { url: `https://localhost:${port}` });
}
