// HTTP client for acquirers that reports whether a request was possibly sent.
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request,
} from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import {
  type AddressGuard,
  addressRefusedError,
  onConnectionOpened,
  startResponseTimeout,
} from '../../platform/index.ts';
import type { ExchangeResult, TlsIdentity } from '../spi/acquirer-spi.ts';

export type ReceivedResponse = {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
};

type AcquirerHttpRequest = {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  /** Called when the operating system has accepted the bytes. */
  onPossiblySent?: (() => void) | undefined;
  /** Called for a response after the time-out, within the late response window. */
  onLateResponse?: ((answer: ReceivedResponse) => void) | undefined;
};

type Options = {
  host: string;
  port: number;
  tls: boolean;
  addressGuard: AddressGuard;
  tlsIdentity?: TlsIdentity | undefined;
  lateResponseWindowMs: number;
  /** Further requests wait for a free connection. */
  maxConnections?: number;
  /** Applies to the wait for a free connection, and again to the connect. */
  connectTimeoutMs?: number;
};

const defaultMaxConnections = 256;
const maxIdleConnections = 16;
/** Shorter than the common server keep-alive of five seconds, so that the client closes first. */
const idleConnectionTimeoutMs = 4000;
/** After this time the acquirer is unreachable or overloaded, and nothing was sent. */
const defaultConnectTimeoutMs = 3000;
const maxResponseBytes = 65_536;
const maxLateRequests = 1000;

/** API clients see this text, so it contains no address of the acquirer. */
function describeConnectError({ code = '' }: NodeJS.ErrnoException): string {
  return /^[A-Z0-9_]{3,60}$/.test(code) ? `no connection: ${code}` : 'no connection';
}

async function readResponse(incoming: IncomingMessage): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxResponseBytes) throw new Error('the response body is too long');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body };
}

export function createAcquirerHttpClient(options: Options) {
  const { host, port, tls, tlsIdentity, maxConnections = defaultMaxConnections } = options;
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options;
  const agentOptions = {
    keepAlive: true,
    lookup: options.addressGuard.lookupFor(port),
    maxSockets: maxConnections,
    maxFreeSockets: maxIdleConnections,
    timeout: idleConnectionTimeoutMs,
  };
  const agent = tls
    ? new TlsAgent({ ...agentOptions, minVersion: 'TLSv1.2', ...tlsIdentity })
    : new PlainAgent(agentOptions);
  const lateRequests = new Set<ClientRequest>();

  function awaitLateResponse(clientRequest: ClientRequest): void {
    if (lateRequests.size >= maxLateRequests) {
      clientRequest.destroy();
      return;
    }
    lateRequests.add(clientRequest);
    const cancelTimeout = startResponseTimeout(options.lateResponseWindowMs, () =>
      clientRequest.destroy(),
    );
    clientRequest.once('close', () => {
      cancelTimeout();
      lateRequests.delete(clientRequest);
    });
  }

  function post(call: AcquirerHttpRequest): Promise<ExchangeResult<ReceivedResponse>> {
    // Node does not look up an IP address, so it is checked here.
    if (options.addressGuard.findHostFault(host, port) !== undefined) {
      const reason = describeConnectError(addressRefusedError());
      return Promise.resolve({ result: 'NotSent', reason });
    }
    const { promise, resolve } = Promise.withResolvers<ExchangeResult<ReceivedResponse>>();
    let possiblySent = false;
    let isFinished = false;
    const clientRequest = (tls ? requestTls : request)({
      host,
      port,
      agent,
      method: 'POST',
      path: call.path,
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(call.body)),
        accept: 'application/json',
        ...call.headers,
      },
    });

    function finish(result: ExchangeResult<ReceivedResponse>): void {
      if (isFinished) return;
      isFinished = true;
      cancelTimeout();
      cancelConnectTimeout();
      resolve(result);
    }

    function failUnsent(reason: string): void {
      if (possiblySent) return;
      finish({ result: 'NotSent', reason });
      clientRequest.destroy();
    }

    const cancelTimeout = startResponseTimeout(call.timeoutMs, () => {
      failUnsent('no connection');
      if (isFinished) return;
      finish({ result: 'Timeout' });
      if (call.onLateResponse === undefined) clientRequest.destroy();
      else awaitLateResponse(clientRequest);
    });

    const startConnectTimeout = () =>
      startResponseTimeout(connectTimeoutMs, () => failUnsent('no connection'));
    // Limits the wait for a free connection, so that fail-over to another link is still possible.
    let cancelConnectTimeout = startConnectTimeout();
    onConnectionOpened(clientRequest, {
      connecting() {
        cancelConnectTimeout();
        if (!isFinished) cancelConnectTimeout = startConnectTimeout();
      },
      opened() {
        possiblySent = true;
        cancelConnectTimeout();
      },
    });
    clientRequest.on('response', (incoming) => {
      readResponse(incoming).then(
        (answer) => {
          if (isFinished) call.onLateResponse?.(answer);
          else finish({ result: 'Responded', response: answer });
        },
        () => finish({ result: 'ConnectionLost' }),
      );
    });
    clientRequest.on('error', (error) => {
      if (possiblySent) finish({ result: 'ConnectionLost' });
      else finish({ result: 'NotSent', reason: describeConnectError(error) });
    });
    // The callback also runs for a failed connect, where nothing was sent.
    clientRequest.end(call.body, () => {
      if (possiblySent) call.onPossiblySent?.();
    });
    return promise;
  }

  return {
    post,
    close(): void {
      for (const each of lateRequests) each.destroy();
      agent.destroy();
    },
  };
}
