// The local listener of the terminal: Nexo messages by HTTPS in the network of the shop.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { defined } from '@switchyard/contract';
import { messageBytesMax, type Protection } from '@switchyard/nexo';
import type { TerminalChannel } from '../context/service-context.ts';
import type { Terminal } from '../context/terminal-interface.ts';
import { ensureCertificate } from './listener-certificate.ts';

/**
 * Address of the local listener, and message protection.
 *
 * @example
 * const local = await listenLocally(terminal, { host: '127.0.0.2', port: 8443, directory, names: [], now });
 */
export type LocalOptions = {
  readonly host: string;
  readonly port: number;
  /** Directory of its certificate. */
  readonly directory: string;
  /** Names besides the address; the first one is the subject of the certificate. */
  readonly names: readonly string[];
  /** With it the terminal rejects unprotected messages. */
  readonly protection?: Protection | undefined;
  /** Time limits for receiving a request; default 10 s for its headers and 30 s in total. */
  readonly timeouts?: { readonly headMs: number; readonly allMs: number } | undefined;
  readonly now: () => number;
};

/**
 * A terminal that listens.
 *
 * @example
 * console.log(local.url, local.certFile);
 */
export type LocalListener = {
  readonly url: string;
  readonly port: number;
  /** The certificate that tills must trust. */
  readonly certFile: string;
  close(): Promise<void>;
};

const paths: readonly string[] = ['/nexo', '/nexo/'];
const requestsMax = 64;
/** A body above the limit is read up to this factor, then the connection is closed. */
const readBeyondLimitFactor = 8;
const status = {
  ok: 200,
  refused: 400,
  forbidden: 403,
  notFound: 404,
  wrongMethod: 405,
  tooLarge: 413,
  busy: 503,
} as const;
const connectionsMax = 128;
const defaultTimeouts = { headMs: 10_000, allMs: 30_000 };
/** Interval of the check for exceeded time limits. */
const timeoutCheckMs = 500;

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    // The rest of a too large body is read and dropped, so that the till receives the status 413.
    if (size > messageBytesMax * readBeyondLimitFactor) return undefined;
    if (size <= messageBytesMax) parts.push(part);
  }
  return size > messageBytesMax ? undefined : Buffer.concat(parts);
}

function endResponse(response: ServerResponse, code: number, text = ''): void {
  if (response.writableEnded || response.destroyed) return;
  response.writeHead(code, {
    ...(text === '' ? {} : { 'content-type': 'application/json; charset=utf-8' }),
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

async function answer(
  terminal: Terminal,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  protection: Protection | undefined,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) {
    endResponse(response, status.tooLarge);
    return;
  }
  const channel: TerminalChannel = {
    isTwoWay: false,
    ...defined({ protection }),
    // An HTTP response contains one message; a duplicate cannot be sent.
    send: (text) => endResponse(response, status.ok, text),
    drop: () => void request.socket.destroy(),
  };
  const isTaken = await terminal.receive(body, channel);
  // An abort request has no answer.
  endResponse(response, isTaken ? status.ok : status.refused);
}

/**
 * Listens.
 *
 * @throws Error where the address is taken
 * @example
 * const local = await listenLocally(terminal, options);
 */
export async function listenLocally(
  terminal: Terminal,
  options: LocalOptions,
): Promise<LocalListener> {
  const { host, port, directory, protection, now } = options;
  const names = [...new Set([...options.names, 'localhost', host, '127.0.0.1'])];
  const { cert, key, certFile } = ensureCertificate(directory, names, now());
  let running = 0;
  const { headMs, allMs } = options.timeouts ?? defaultTimeouts;
  const server: Server = createServer({
    cert,
    key,
    minVersion: 'TLSv1.2',
    headersTimeout: headMs,
    requestTimeout: allMs,
    handshakeTimeout: headMs,
    connectionsCheckingInterval: timeoutCheckMs,
  });
  server.maxConnections = connectionsMax;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (!paths.includes(path)) return endResponse(response, status.notFound);
    if (request.method !== 'POST') return endResponse(response, status.wrongMethod);
    // A page in a browser could reach the terminal; its requests have an Origin header.
    if (request.headers.origin !== undefined) return endResponse(response, status.forbidden);
    if (running >= requestsMax) return endResponse(response, status.busy);
    running += 1;
    answer(terminal, { request, response }, protection)
      .catch(() => request.socket.destroy())
      .finally(() => {
        running -= 1;
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    certFile,
    url: `https://${host}:${bound}/nexo`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
