// A private service, such as a database or a metadata service: a connection from the platform is a success of the attack.
import { once } from 'node:events';
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { MadeCertificate } from '../../packages/server/src/http/authentication/certificate.fixture.ts';

export type Trap = { readonly port: number; countConnections(): number; close(): Promise<void> };

async function listen(server: Server, host: string): Promise<Trap> {
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

export const startTrap = (host = '127.0.0.1'): Promise<Trap> =>
  listen(
    createPlain((_request, response) => response.end('secret')),
    host,
  );

/** A receiver over TLS that the operator has allowed. */
export const startReceiver = (
  { cert, key }: MadeCertificate,
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Trap> =>
  listen(
    createSecure({ cert, key }, (request, response) => {
      request.resume();
      respond(request, response);
    }),
    '127.0.0.1',
  );
