/** Receives the events of a provider during a conformance check, in place of the platform. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { membersOf, parseJson } from '../../http/problem-details.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fail } from '../../runtime/command-error.ts';

const bodyMaxBytes = 65_536;
const receivedMax = 5_000;
const eventsPath = /\/qrcode-payment\/v1\/transactions\/([0-9a-f-]{36})\/events$/;

/** One delivery attempt of an event. */
export type ReceivedEvent = {
  readonly transactionId: string;
  readonly at: number;
  readonly body: string;
  /** The members of the JSON body; empty if the body is not JSON. */
  readonly value: Record<string, unknown>;
  readonly contentType: string;
  readonly hasToken: boolean;
  readonly responseStatus: number;
};

export type EventReceiver = {
  /** The address for the events of a payment. */
  urlOf(transactionId: string): string;
  eventsOf(transactionId: string): readonly ReceivedEvent[];
  /** Answers 503 to the first event of this payment. */
  failFirst(transactionId: string): void;
  /** Waits until the condition is met; false after the time limit. */
  waitUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
  close(): Promise<void>;
};

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bodyMaxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function listenOn(server: ReturnType<typeof createServer>, host: string, port: number) {
  return new Promise<number>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'EADDRINUSE' ? -1 : -2);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/**
 * @param publicUrl the address at which a provider on another machine reaches the receiver
 * @example const receiver = await startEventReceiver({ host: '127.0.0.1', port: 0, clock });
 */
export async function startEventReceiver(options: {
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
}): Promise<EventReceiver> {
  const received: ReceivedEvent[] = [];
  const transactionsToFail = new Set<string>();
  const waiters = new Set<() => void>();

  function recordEvent(transactionId: string, request: IncomingMessage, body: string): number {
    const value = membersOf(parseJson(Buffer.from(body)));
    const { authorization = '', 'content-type': contentType = '' } = request.headers;
    const isRepeated = received.some(
      (each) =>
        each.transactionId === transactionId &&
        each.responseStatus < 300 &&
        each.value['eventId'] === value['eventId'],
    );
    const responseStatus = transactionsToFail.delete(transactionId) ? 503 : isRepeated ? 200 : 202;
    if (received.length < receivedMax) {
      const hasToken = /^Bearer \S+$/i.test(authorization);
      const at = options.clock.now();
      received.push({ transactionId, at, body, value, contentType, hasToken, responseStatus });
    }
    return responseStatus;
  }

  const server = createServer((request, response) => {
    void readBody(request).then(
      (body) => {
        const [, id] = eventsPath.exec((request.url ?? '').split('?')[0] ?? '') ?? [];
        const isEvent = request.method === 'POST' && id !== undefined && body !== undefined;
        const status = isEvent ? recordEvent(id, request, body) : body === undefined ? 413 : 404;
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
        for (const checkCondition of waiters) checkCondition();
      },
      () => request.socket.destroy(),
    );
  });
  const port = await listenOn(server, options.host, options.port);
  if (port < 0) {
    const reason = port === -1 ? 'is in use' : 'is not available';
    fail('usage', `${options.host}:${options.port} ${reason}: name another one with --listen.`);
  }
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const base = (options.publicUrl ?? `http://${host}:${port}`).replace(/\/+$/, '');

  return {
    urlOf: (transactionId) => `${base}/qrcode-payment/v1/transactions/${transactionId}/events`,
    eventsOf: (transactionId) => received.filter((each) => each.transactionId === transactionId),
    failFirst: (transactionId) => void transactionsToFail.add(transactionId),
    waitUntil(condition, limitMs) {
      return new Promise((resolve) => {
        const end = (isMet: boolean) => {
          clearTimeout(timer);
          waiters.delete(checkCondition);
          resolve(isMet);
        };
        const checkCondition = () => {
          if (condition()) end(true);
        };
        const timer = setTimeout(() => end(condition()), limitMs);
        waiters.add(checkCondition);
        checkCondition();
      });
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
