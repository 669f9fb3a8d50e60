// Answers those who watch the process: metrics, whether it lives, and whether it can serve.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limitIncompleteRequests } from './incomplete-requests.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

const checkTimeoutMs = 2_000;
const requestTimeoutMs = 10_000;
const timeoutCheckMs = 1_000;
const headerLimitBytes = 8_192;
const connectionLimit = 100;

export type ReadinessCheck = () => Promise<boolean>;

export type Monitoring = {
  /** Resolves with the port that was taken. */
  listen(): Promise<number>;
  /** From now on `/readyz` says no, so that traffic goes elsewhere while work ends. */
  drain(): void;
  close(): Promise<void>;
};

export type MonitoringOptions = {
  host: string;
  port: number;
  metrics: Metrics;
  log: Log;
  /** The parts of the platform that this process opens; told with the readiness. */
  roles?: readonly string[];
  /** What this process needs in order to serve: database, migrations, keys; never one acquirer's link. */
  checks: Readonly<Record<string, ReadinessCheck>>;
  /** What is told beside: without it this process serves less, and serves. */
  beside?: Readonly<Record<string, ReadinessCheck>>;
};

export function createMonitoring(options: MonitoringOptions): Monitoring {
  const { metrics, log } = options;
  let draining = false;
  const answers: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/metrics': async (response) => {
      const text = await metrics.registry.metrics();
      response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text);
    },
    '/healthz': async (response) => sendJson(response, 200, { status: 'ok' }),
    '/readyz': async (response) => {
      const checks = await runChecks(options.checks);
      const ready = !draining && Object.values(checks).every((check) => check === 'ok');
      const status = draining ? 'stopping' : ready ? 'ok' : 'unavailable';
      const beside =
        options.beside === undefined ? {} : { beside: await runChecks(options.beside) };
      sendJson(response, ready ? 200 : 503, { status, roles: options.roles, checks, ...beside });
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
    const answer = answers[request.url?.split('?')[0] ?? ''];
    if (answer === undefined) return sendJson(response, 404, { status: 'not found' });
    if (request.method === 'GET' || request.method === 'HEAD') return answer(response);
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
      draining = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function runChecks(
  checks: MonitoringOptions['checks'],
): Promise<Record<string, 'ok' | 'failed'>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await passes(check)] as const),
  );
  return Object.fromEntries(results.map(([name, good]) => [name, good ? 'ok' : 'failed']));
}

async function passes(check: ReadinessCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, checkTimeoutMs, false);
  });
  const answer = await Promise.race([check().catch(() => false), late]);
  clearTimeout(timer);
  return answer;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body)}\n`);
}
