// HTTP listener for monitoring: metrics, liveness and readiness.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limitIncompleteRequests } from '../net/incomplete-requests.ts';
import { buildVersion } from './build-version.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Less than the second that Kubernetes and load balancers wait for a probe. */
const checkTimeoutMs = 500;
/** Maximum number of links in the readiness body. */
const maxLinks = 1_000;
const requestTimeoutMs = 10_000;
const timeoutCheckMs = 1_000;
const headerLimitBytes = 8_192;
const connectionLimit = 100;

export type ReadinessCheck = () => Promise<boolean>;
export type LinkHealth = {
  readonly linkId: string;
  readonly name: string;
  readonly available: boolean;
};

export type MonitoringListener = {
  /** Resolves with the port. */
  listen(): Promise<number>;
  /** From now on `/readyz` answers 503, so that load balancers send requests to other processes. */
  drain(): void;
  close(): Promise<void>;
};

export type MonitoringListenerOptions = {
  host: string;
  port: number;
  metrics: Metrics;
  log: Log;
  /** The roles of this process, included in the readiness body. */
  roles?: readonly string[];
  /** What this process needs to answer requests: migrations and keys. */
  checks: Readonly<Record<string, () => boolean>>;
  /**
   * Included in the body without changing the status: while one fails, the process answers 503 to
   * some requests or serves less.
   */
  dependencies: Readonly<Record<string, ReadinessCheck>>;
  /** The acquirer links, included in the body. Undefined without the role `cards`. */
  links?: (() => readonly LinkHealth[]) | undefined;
  /** Further members of the `/readyz` body, which do not change the status. */
  notes?: () => Readonly<Record<string, string>>;
};

export function createMonitoringListener(options: MonitoringListenerOptions): MonitoringListener {
  const { metrics, log } = options;
  let isDraining = false;
  const handlers: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/metrics': async (response) => {
      const text = await metrics.registry.metrics();
      response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text);
    },
    '/healthz': async (response) => sendJson(response, 200, { status: 'ok', ...buildVersion }),
    '/readyz': async (response) => {
      const checks = mapValues(options.checks, (check) => resultOf(check()));
      const isReady = !isDraining && Object.values(checks).every((check) => check === 'ok');
      const status = isDraining ? 'stopping' : isReady ? 'ok' : 'unavailable';
      const dependencies = await runChecks(options.dependencies);
      const links = options.links?.().slice(0, maxLinks);
      const notes = options.notes?.() ?? {};
      const body = { status, roles: options.roles, checks, dependencies, links, ...notes };
      sendJson(response, isReady ? 200 : 503, body);
    },
  };
  const server: Server = createServer(
    {
      headersTimeout: requestTimeoutMs,
      requestTimeout: 0,
      connectionsCheckingInterval: timeoutCheckMs,
      maxHeaderSize: headerLimitBytes,
    },
    (request, response) => {
      handle(request, response).catch((error: unknown) => {
        log.warn({ err: error }, 'monitoring request failed');
        if (response.headersSent) response.destroy();
        else sendJson(response, 500, { status: 'error' });
      });
    },
  );
  server.prependListener('request', limitIncompleteRequests(server, requestTimeoutMs));
  server.on('clientError', (_error, socket) => socket.destroy());
  server.maxConnections = connectionLimit;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const handler = handlers[request.url?.split('?')[0] ?? ''];
    if (handler === undefined) return sendJson(response, 404, { status: 'not found' });
    if (request.method === 'GET' || request.method === 'HEAD') return handler(response);
    response.setHeader('allow', 'GET, HEAD');
    return sendJson(response, 405, { status: 'method not allowed' });
  }

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(options.port, options.host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    drain() {
      isDraining = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Result = 'ok' | 'failed';

const resultOf = (isPassed: boolean): Result => (isPassed ? 'ok' : 'failed');

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

async function runChecks(
  checks: MonitoringListenerOptions['dependencies'],
): Promise<Record<string, Result>> {
  const results = Object.entries(checks).map(
    async ([name, check]) => [name, resultOf(await passesInTime(check))] as const,
  );
  return Object.fromEntries(await Promise.all(results));
}

async function passesInTime(check: ReadinessCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, checkTimeoutMs, false);
  });
  const answer = await Promise.race([check().catch(() => false), timeout]);
  clearTimeout(timer);
  return answer;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body)}\n`);
}
