/** Listens for points of sale in the shop, by HTTPS and WebSockets at `/nexo`, for the time when the cloud is away. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connectorLimits } from '@switchyard/contract';
import { textOf } from './errors.ts';
import { type LocalPeer, serveSockets } from './local-sockets.ts';
import { leaveBodyUnread } from './unread-body.ts';

/**
 * What a local listener needs. The port that points of sale have built in is 8443.
 *
 * @example
 * const options: LocalListenerOptions = { host: '127.0.0.2', port: 8443, cert, key, handle };
 */
export type LocalListenerOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Of the terminal. Left out: plain HTTP, on this machine alone. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Whoever may connect must have a certificate of it. */
  readonly clientCa?: string | Buffer;
  /** How long a request may take to come, ms; default 10 s for its head, and 30 s in all. */
  readonly patience?: { readonly headMs: number; readonly allMs: number };
  /**
   * The answer to a message; to an abort there is none: an empty 200, and nothing on a WebSocket. The
   * signal: the asker has left. Who came by a WebSocket is `peer`, to whom more can be said: events,
   * and requests for its screen and its printer.
   */
  handle(message: string, signal: AbortSignal, peer?: LocalPeer): Promise<string | undefined>;
  /** Hears what `handle` throws; the asker is told 500. */
  onFault?(error: unknown): void;
};

/**
 * A listener that is open.
 *
 * @example
 * const { url }: LocalListener = await openLocalListener(options);
 */
export type LocalListener = {
  readonly url: string;
  /** The same for WebSockets. */
  readonly socketUrl: string;
  close(): Promise<void>;
};

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;
const paths = new Set(['/nexo', '/nexo/']);
const connectionsMax = 64;
const usualPatience = { headMs: 10_000, allMs: 30_000 };
/** How often it is looked whose time is over. */
const lookEveryMs = 500;

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The response to a body that is too long needs the connection.
  const parts: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of parts) {
    length += chunk.length;
    if (length > connectorLimits.messageMaxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function end(response: ServerResponse, status: number, body = ''): void {
  const type = body === '' ? {} : { 'content-type': 'application/json; charset=utf-8' };
  response.writeHead(status, { ...type, 'content-length': Buffer.byteLength(body) }).end(body);
}

/**
 * Opens a listener for messages of points of sale in the same network: the same messages that come
 * through the cloud. One by HTTPS gets one answer; one by a WebSocket may be spoken to at any time.
 *
 * @param options - where, with which certificate, and who answers
 * @returns the listener, once it is open
 * @throws Error where the port is taken, or without TLS beyond this machine
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
  if (isPlain && !loopback.test(host)) throw new TypeError('without TLS on this machine alone');

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const refuse = (status: number) => {
      leaveBodyUnread(request, response);
      end(response, status);
    };
    if (!paths.has(path)) return refuse(404);
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return refuse(405);
    }
    // A page in a browser could reach the terminal; it cannot hide where it comes from.
    if (request.headers.origin !== undefined) return refuse(403);
    const message = await bodyOf(request);
    if (message === undefined) return refuse(413);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    return end(response, 200, (await handle(message, gone.signal)) ?? '');
  }

  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error: unknown) => {
      options.onFault?.(error);
      if (response.headersSent) response.destroy(new Error(textOf(error)));
      else end(response, 500);
    });
  };
  const { headMs, allMs } = options.patience ?? usualPatience;
  const times = {
    headersTimeout: headMs,
    requestTimeout: allMs,
    connectionsCheckingInterval: lookEveryMs,
  };
  const asked = clientCa === undefined ? {} : { ca: clientCa, requestCert: true };
  const server = isPlain
    ? createServer(times, listen)
    : createTlsServer(
        { ...times, handshakeTimeout: headMs, cert, key, ...asked, minVersion: 'TLSv1.2' },
        listen,
      );
  server.maxConnections = connectionsMax;
  const sockets = serveSockets(server, {
    isPath: (path) => paths.has(path),
    handle,
    onFault: (error) => options.onFault?.(error),
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const { port: open } = server.address() as AddressInfo;
  const address = `${host.includes(':') ? `[${host}]` : host}:${open}/nexo`;
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
