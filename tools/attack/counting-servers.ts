// Servers that count the connections of the platform: private services, and a webhook receiver that the operator allows.
import { once } from 'node:events';
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { MadeCertificate } from '../../packages/server/src/http/authentication/certificate.fixture.ts';

export type CountingServer = {
  readonly port: number;
  countConnections(): number;
  close(): Promise<void>;
};

async function listen(server: Server, host: string): Promise<CountingServer> {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    countConnections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A private service, such as a database or a metadata service: a connection is a success of the attack. */
export const startPrivateServer = (): Promise<CountingServer> =>
  listen(
    createPlain((_request, response) => response.end('secret')),
    '127.0.0.1',
  );

/** A receiver over TLS that the operator has allowed. */
export const startAllowedReceiver = (
  { cert, key }: MadeCertificate,
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<CountingServer> =>
  listen(
    createSecure({ cert, key }, (request, response) => {
      request.resume();
      respond(request, response);
    }),
    '127.0.0.1',
  );
