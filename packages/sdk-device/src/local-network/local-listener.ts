/** Accepts points of sale in the local network over HTTPS and WebSockets at `/nexo`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { connectorLimits } from '@switchyard/contract';
import { errorText } from '@switchyard/sdk-core';
import { type LocalPosConnection, serveWebsockets } from './local-websockets.ts';

/**
 * The options of a local listener. Points of sale use port 8443 by default.
 *
 * @example
 * const options: LocalListenerOptions = { host: '127.0.0.2', port: 8443, cert, key, handle };
 */
export type LocalListenerOptions = {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The certificate of the terminal. Without it: plain HTTP, on this machine only. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Clients must have a certificate from this authority. */
  readonly clientCa?: string | Buffer;
  /** The time limit of a request in ms; default 10 s for its head and 30 s in total. */
  readonly timeouts?: { readonly headersMs: number; readonly requestMs: number };
  /**
   * Returns the answer to a message. An abort has no answer: an empty 200, or nothing on a
   * WebSocket. The signal aborts when the client has disconnected. `peer` is a WebSocket client,
   * which can also receive events and requests for its display and printer.
   */
  handle(
    message: string,
    signal: AbortSignal,
    connection?: LocalPosConnection,
  ): Promise<string | undefined>;
  /** Receives an error that `handle` throws; the client receives a 500. */
  onError?(error: unknown): void;
};

/**
 * An open listener.
 *
 * @example
 * const { url }: LocalListener = await openLocalListener(options);
 */
export type LocalListener = {
  readonly url: string;
  /** The same address for WebSockets. */
  readonly socketUrl: string;
  close(): Promise<void>;
};

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;
const paths = new Set(['/nexo', '/nexo/']);
const connectionsMax = 64;
const defaultTimeouts = { headersMs: 10_000, requestMs: 30_000 };
/** How often the server checks the time limits. */
const timeoutCheckMs = 500;

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  // A response to a body that is too long needs the open connection.
  const parts: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of parts) {
    length += chunk.length;
    if (length > connectorLimits.messageMaxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendResponse(response: ServerResponse, status: number, body = ''): void {
  const type = body === '' ? {} : { 'content-type': 'application/json; charset=utf-8' };
  response.writeHead(status, { ...type, 'content-length': Buffer.byteLength(body) }).end(body);
}

/**
 * Opens a listener for messages of points of sale in the same network. The messages are the same as
 * through the cloud. An HTTPS request gets one answer; a WebSocket can receive messages at any
 * time.
 *
 * @param options - the address, the certificate and the handler
 * @returns the listener, once it is open
 * @throws Error if the port is in use, or without TLS on an address outside this machine
 * @example
 * ```ts
 * const listener = await openLocalListener({
 *   host: '192.168.1.20', port: 8443, cert, key, handle: (message) => terminal.answer(message),
 * });
 * ```
 */
export async function openLocalListener(options: LocalListenerOptions): Promise<LocalListener> {
  const { host, port, cert, key, clientCa, handle } = options;
  const isPlain = cert === undefined || key === undefined;
  if (isPlain && !loopback.test(host))
    throw new TypeError('without TLS the listener accepts only loopback addresses');

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const sendStatus = (status: number) => {
      leaveBodyUnread(request, response);
      sendResponse(response, status);
    };
    if (!paths.has(path)) return sendStatus(404);
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return sendStatus(405);
    }
    // Refuses web pages: a browser sends the Origin header of the page with the request.
    if (request.headers.origin !== undefined) return sendStatus(403);
    const message = await readBody(request);
    if (message === undefined) return sendStatus(413);
    const disconnected = new AbortController();
    response.on('close', () => disconnected.abort());
    return sendResponse(response, 200, (await handle(message, disconnected.signal)) ?? '');
  }

  const handleRequest = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error: unknown) => {
      options.onError?.(error);
      if (response.headersSent) response.destroy(new Error(errorText(error)));
      else sendResponse(response, 500);
    });
  };
  const { headersMs, requestMs } = options.timeouts ?? defaultTimeouts;
  const times = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: timeoutCheckMs,
  };
  const clientCertificateOptions =
    clientCa === undefined ? {} : { ca: clientCa, requestCert: true };
  const server = isPlain
    ? createServer(times, handleRequest)
    : createTlsServer(
        {
          ...times,
          handshakeTimeout: headersMs,
          cert,
          key,
          ...clientCertificateOptions,
          minVersion: 'TLSv1.2',
        },
        handleRequest,
      );
  server.maxConnections = connectionsMax;
  const sockets = serveWebsockets(server, {
    isPath: (path) => paths.has(path),
    handle,
    onError: (error) => options.onError?.(error),
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const { port: openPort } = server.address() as AddressInfo;
  const address = `${host.includes(':') ? `[${host}]` : host}:${openPort}/nexo`;
  return {
    url: `${isPlain ? 'http' : 'https'}://${address}`,
    socketUrl: `${isPlain ? 'ws' : 'wss'}://${address}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        sockets.close();
        server.closeAllConnections();
      }),
  };
}

/** The client reads the response within this time. */
const closeDelayMs = 1_000;

function hasMore({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Ends the response side first: a reset at once could remove the response from the client's buffer. */
function closeUnread(socket: Socket): void {
  socket.end();
  const stopReading = () => socket.pause();
  // Node resumes the socket in this turn, to discard the body.
  setImmediate(() => {
    stopReading();
    socket.on('resume', stopReading);
  });
  const timer = setTimeout(() => socket.destroy(), closeDelayMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Call before the head of the response is written. */
function leaveBodyUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!hasMore(request)) return;
  const { socket } = request;
  response.shouldKeepAlive = false;
  socket.destroySoon = () => closeUnread(socket);
}
