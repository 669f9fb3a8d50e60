/** Takes the events of a provider during a run of checks, as the platform would. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { fail } from '../../runtime/command-error.ts';

const bodyMaxBytes = 65_536;
const heardMax = 5_000;
const eventsPath = /\/qrcode-payment\/v1\/transactions\/([0-9a-f-]{36})\/events$/;

/** One try of one event. */
export type Heard = {
  readonly transactionId: string;
  readonly at: number;
  readonly body: string;
  /** Nothing where it is no JSON. */
  readonly value: Record<string, unknown>;
  readonly contentType: string;
  readonly hasToken: boolean;
  readonly answered: number;
};

export type Listener = {
  /** Where a provider is told to send the events of a payment. */
  urlOf(transactionId: string): string;
  of(transactionId: string): readonly Heard[];
  /** The first try of this payment is answered as a server that is overloaded. */
  failFirst(transactionId: string): void;
  /** As soon as it holds, or false when the time is over. */
  until(holds: () => boolean, limitMs: number): Promise<boolean>;
  close(): Promise<void>;
};

async function read(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bodyMaxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function listening(server: ReturnType<typeof createServer>, host: string, port: number) {
  return new Promise<number>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'EADDRINUSE' ? -1 : -2);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/**
 * @param publicUrl how the provider reaches it, where that is not this machine
 * @example const listener = await startListener({ host: '127.0.0.1', port: 0, clock });
 */
export async function startListener(options: {
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
}): Promise<Listener> {
  const heard: Heard[] = [];
  const failing = new Set<string>();
  const waiting = new Set<() => void>();

  function take(transactionId: string, request: IncomingMessage, body: string): number {
    const value = membersOf(body);
    const { authorization = '', 'content-type': contentType = '' } = request.headers;
    const isAgain = heard.some(
      (each) =>
        each.transactionId === transactionId &&
        each.answered < 300 &&
        each.value['eventId'] === value['eventId'],
    );
    const answered = failing.delete(transactionId) ? 503 : isAgain ? 200 : 202;
    if (heard.length < heardMax) {
      const hasToken = /^Bearer \S+$/i.test(authorization);
      const at = options.clock.now();
      heard.push({ transactionId, at, body, value, contentType, hasToken, answered });
    }
    return answered;
  }

  const server = createServer((request, response) => {
    void read(request).then(
      (body) => {
        const [, id] = eventsPath.exec((request.url ?? '').split('?')[0] ?? '') ?? [];
        const isEvent = request.method === 'POST' && id !== undefined && body !== undefined;
        const status = isEvent ? take(id, request, body) : body === undefined ? 413 : 404;
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
        for (const look of waiting) look();
      },
      () => request.socket.destroy(),
    );
  });
  const port = await listening(server, options.host, options.port);
  if (port < 0) {
    const why = port === -1 ? 'is in use' : 'cannot be listened on';
    fail('usage', `${options.host}:${options.port} ${why}: name another one with --listen.`);
  }
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const base = (options.publicUrl ?? `http://${host}:${port}`).replace(/\/+$/, '');

  return {
    urlOf: (transactionId) => `${base}/qrcode-payment/v1/transactions/${transactionId}/events`,
    of: (transactionId) => heard.filter((each) => each.transactionId === transactionId),
    failFirst: (transactionId) => void failing.add(transactionId),
    until(holds, limitMs) {
      return new Promise((resolve) => {
        const end = (held: boolean) => {
          clearTimeout(timer);
          waiting.delete(look);
          resolve(held);
        };
        const look = () => {
          if (holds()) end(true);
        };
        const timer = setTimeout(() => end(holds()), limitMs);
        waiting.add(look);
        look();
      });
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
