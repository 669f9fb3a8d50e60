// A small connector for tests: it speaks the protocol over real TLS, and tests set its answers.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { connectorPaths } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import type { TestCertificates } from './certificates.fixture.ts';

type Members = Record<string, unknown>;

export type FakeConnector = {
  readonly registerUrl: string;
  /** The registration messages of the devices, in order. */
  readonly registrations: Members[];
  /** The common names of the client certificates. */
  readonly certificateNames: string[];
  /** The data sockets in order; the last one is the newest. */
  readonly connections: WebSocket[];
  readonly headers: (string | undefined)[];
  /** Replaces `registered` in every answer: a message, a close code, or no answer. */
  answer: ((message: Members) => Members | number | 'silence') | undefined;
  /** An HTTP status instead of an upgrade, by path. */
  rejectHandshake:
    | ((path: string) => { status: number; retryAfter?: number; body?: string } | undefined)
    | undefined;
  stop(): Promise<void>;
};

const registeredDefaults = { tokenType: 'Bearer', expiresIn: 120, heartbeatSeconds: 25 };

export async function startFakeConnector(certificates: TestCertificates): Promise<FakeConnector> {
  const { ca, server: serverIdentity } = certificates;
  const server = createServer({
    ...serverIdentity,
    ca,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1_048_576 });
  let connectionCount = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const base = `wss://localhost:${port}`;
  const connector: FakeConnector = {
    registerUrl: base + connectorPaths.deviceListener,
    registrations: [],
    certificateNames: [],
    connections: [],
    headers: [],
    answer: undefined,
    rejectHandshake: undefined,
    async stop() {
      for (const each of sockets.clients) each.terminate();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  function answerRegistration(socket: WebSocket): void {
    socket.once('message', (data) => {
      const message = JSON.parse(String(data)) as Members;
      connector.registrations.push(message);
      const answer = connector.answer?.(message);
      if (answer === 'silence') return;
      if (typeof answer === 'number') {
        socket.close(answer);
        return;
      }
      connectionCount += 1;
      const registered = {
        type: 'registered',
        tsn: message['tsn'],
        token: `token-${connectionCount}`,
        ...registeredDefaults,
        connectionUrl: `${base}${connectorPaths.deviceConnections}/${connectionCount}`,
        maxMessageBytes: 65_536,
      };
      socket.send(JSON.stringify(answer ?? registered));
      socket.close(1000, 'registered');
    });
  }

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = request.url ?? '';
    const rejection = connector.rejectHandshake?.(path);
    if (rejection !== undefined) {
      const after =
        rejection.retryAfter === undefined ? '' : `Retry-After: ${rejection.retryAfter}\r\n`;
      const { status, body = '' } = rejection;
      const length = Buffer.byteLength(body);
      socket.end(`HTTP/1.1 ${status} No\r\n${after}Content-Length: ${length}\r\n\r\n${body}`);
      return;
    }
    connector.certificateNames.push(String((socket as TLSSocket).getPeerCertificate().subject?.CN));
    sockets.handleUpgrade(request, socket, head, (opened) => {
      if (path === connectorPaths.deviceListener) answerRegistration(opened);
      else {
        connector.headers.push(request.headers.authorization);
        connector.connections.push(opened);
      }
    });
  });
  return connector;
}
