// A small connector for tests: tokens, control connections, claims and sessions over real sockets.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';

type Members = Record<string, unknown>;
type HandshakeRejection = {
  readonly status: number;
  readonly retryAfter?: number;
  readonly body?: string;
};

export type FakeConnector = {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly tokens: string[];
  /** The token of each control connection; `said` has the messages of the point of sale. */
  readonly authorizations: (string | undefined)[];
  readonly receivedMessages: Members[];
  readonly controls: WebSocket[];
  /** The sessions in order; the last one is the newest. */
  readonly sessions: WebSocket[];
  tokenSeconds: number;
  isOnline: boolean;
  /** Replaces the usual answer with another message, or with no answer. */
  answer: ((message: Members) => Members | 'silence' | undefined) | undefined;
  rejectHandshake:
    | ((path: string, authorization?: string) => HandshakeRejection | undefined)
    | undefined;
  /** Handles the messages that reach the terminal. */
  terminal: ((text: string, send: (text: string) => void) => void) | undefined;
  /** Messages that the connector sends first on a resumed session. */
  heldMessages: string[];
  push(message: Members): void;
  stop(): Promise<void>;
};

const errorMessage = (requestId: unknown, code: string, more: Members = {}): Members => ({
  type: 'error',
  requestId,
  correlationId: 'c-1',
  error: { code, message: code, retryable: true, ...more },
});

export async function startFakeConnector(): Promise<FakeConnector> {
  let sessionCount = 0;
  let lastSession: { sessionId: string; resumeToken: string } | undefined;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/token') !== true) {
      response.writeHead(404).end();
      return;
    }
    const token = `token-${connector.tokens.length + 1}`;
    connector.tokens.push(token);
    const body = { access_token: token, token_type: 'Bearer', expires_in: connector.tokenSeconds };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connector: FakeConnector = {
    baseUrl: `http://127.0.0.1:${port}`,
    tokenUrl: `http://127.0.0.1:${port}/token`,
    tokens: [],
    authorizations: [],
    receivedMessages: [],
    controls: [],
    sessions: [],
    tokenSeconds: 3600,
    isOnline: true,
    answer: undefined,
    rejectHandshake: undefined,
    terminal: undefined,
    heldMessages: [],
    push: (message) => connector.controls.at(-1)?.send(JSON.stringify(message)),
    async stop() {
      for (const each of sockets.clients) each.terminate();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  function claimedMessage({ requestId, tsn, resumeToken }: Members): Members {
    sessionCount += 1;
    const isResumed = lastSession !== undefined && resumeToken === lastSession.resumeToken;
    lastSession = { sessionId: `session-${sessionCount}`, resumeToken: `resume-${sessionCount}` };
    return {
      type: 'claimed',
      requestId,
      tsn,
      ...lastSession,
      expiresIn: 60,
      sessionUrl: `ws://127.0.0.1:${port}${connectorPaths.sessions}/${lastSession.sessionId}`,
      ...(isResumed ? { resumed: true } : {}),
    };
  }

  function defaultAnswer(message: Members): Members | undefined {
    const { type, requestId, tsn, sessionId } = message;
    if (type === 'claim') {
      return connector.isOnline
        ? claimedMessage(message)
        : errorMessage(requestId, 'device_offline', { retryAfterSeconds: 5 });
    }
    if (type === 'status') {
      return { type: 'deviceStatus', requestId, tsn, online: connector.isOnline, claimed: false };
    }
    if (type === 'release') {
      connector.sessions.at(-1)?.close(closeCodes.released, 'released:c-2');
      return { type: 'released', requestId, sessionId };
    }
    if (type === 'renewToken') return { type: 'tokenRenewed', requestId, expiresIn: 3600 };
    return errorMessage(requestId, 'bad_message', { retryable: false });
  }

  function serveControl(socket: WebSocket): void {
    connector.controls.push(socket);
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Members;
      connector.receivedMessages.push(message);
      const answer = connector.answer?.(message) ?? defaultAnswer(message);
      if (answer !== undefined && answer !== 'silence') socket.send(JSON.stringify(answer));
    });
  }

  function serveSession(socket: WebSocket): void {
    connector.sessions.push(socket);
    for (const text of connector.heldMessages.splice(0)) socket.send(text);
    socket.on('message', (data, isBinary) => {
      if (isBinary) socket.send(data, { binary: true });
      else connector.terminal?.(String(data), (text) => socket.send(text));
    });
  }

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = request.url ?? '';
    const rejection = connector.rejectHandshake?.(path, request.headers.authorization);
    if (rejection !== undefined) {
      const { status, retryAfter, body = '' } = rejection;
      const after = retryAfter === undefined ? '' : `Retry-After: ${retryAfter}\r\n`;
      const length = Buffer.byteLength(body);
      socket.end(`HTTP/1.1 ${status} No\r\n${after}Content-Length: ${length}\r\n\r\n${body}`);
      return;
    }
    if (path === connectorPaths.posListener) {
      connector.authorizations.push(request.headers.authorization);
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      if (path === connectorPaths.posListener) serveControl(opened);
      else serveSession(opened);
    });
  });
  return connector;
}
