// HTTP client for acquirers that reports whether a request was possibly sent.
import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { onConnection, whenOver } from '../../platform/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { ReceivedAnswer } from './http-message-signatures.ts';

export type CallResult =
  | { result: 'Answered'; answer: ReceivedAnswer }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' }
  | { result: 'ConnectionLost' };

export type Call = {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  /** Called when the operating system has accepted the bytes. */
  onSent?: (() => void) | undefined;
  /** Called for a response after the time-out, within the late response window. */
  onLate?: ((answer: ReceivedAnswer) => void) | undefined;
};

export type Calls = { post(call: Call): Promise<CallResult>; close(): void };

type Options = {
  host: string;
  port: number;
  tls: boolean;
  /** TLS client certificate and trusted CA. */
  identity?: TlsIdentity | undefined;
  lateMs: number;
  /** Further requests wait for a free connection. */
  connectionsMax?: number;
  /** Applies to the wait for a free connection, and again to the connect. */
  connectTimeoutMs?: number;
};

const connectionsMaxDefault = 256;
const freeConnectionsMax = 16;
/** Shorter than the common server keep-alive of five seconds, so that the client closes first. */
const idleMs = 4000;
/** After this time the acquirer is unreachable or overloaded, and nothing was sent. */
const connectTimeoutDefaultMs = 3000;
const answerBytesMax = 65_536;
/** Maximum concurrent requests that wait for a late response. */
const lateMax = 1000;

/** API clients see this text, so it contains no address of the acquirer. */
function reasonOf({ code = '' }: NodeJS.ErrnoException): string {
  return /^[A-Z0-9_]{3,60}$/.test(code) ? `no connection: ${code}` : 'no connection';
}

async function read(incoming: IncomingMessage): Promise<ReceivedAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > answerBytesMax) throw new Error('the response body is too long');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body };
}

/** @example const calls = createCalls({ host, port, tls: true, lateMs: 10_000 }); */
export function createCalls(options: Options): Calls {
  const { host, port, tls, identity } = options;
  const { connectionsMax = connectionsMaxDefault } = options;
  const { connectTimeoutMs = connectTimeoutDefaultMs } = options;
  const pool = {
    keepAlive: true,
    maxSockets: connectionsMax,
    maxFreeSockets: freeConnectionsMax,
    timeout: idleMs,
  };
  const agent = tls
    ? new TlsAgent({ ...pool, minVersion: 'TLSv1.2', ...identity })
    : new PlainAgent(pool);
  const late = new Set<ClientRequest>();

  function listenOn(sent: ClientRequest): void {
    if (late.size >= lateMax) {
      sent.destroy();
      return;
    }
    late.add(sent);
    const inTime = whenOver(options.lateMs, () => sent.destroy());
    sent.once('close', () => {
      inTime();
      late.delete(sent);
    });
  }

  function post(call: Call): Promise<CallResult> {
    const { promise, resolve } = Promise.withResolvers<CallResult>();
    let hasLeft = false;
    let isDone = false;
    const sent = (tls ? requestTls : request)({
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

    function settle(result: CallResult): void {
      if (isDone) return;
      isDone = true;
      inTime();
      connectedInTime();
      resolve(result);
    }

    function giveUp(reason: string): void {
      if (hasLeft) return;
      settle({ result: 'NotSent', reason });
      sent.destroy();
    }

    const inTime = whenOver(call.timeoutMs, () => {
      giveUp('no connection');
      if (isDone) return;
      settle({ result: 'Timeout' });
      if (call.onLate === undefined) sent.destroy();
      else listenOn(sent);
    });

    const startConnectLimit = () => whenOver(connectTimeoutMs, () => giveUp('no connection'));
    // Limits the wait for a free connection, so that fail-over to another link is still possible.
    let connectedInTime = startConnectLimit();
    onConnection(sent, {
      connecting() {
        connectedInTime();
        if (!isDone) connectedInTime = startConnectLimit();
      },
      opened() {
        hasLeft = true;
        connectedInTime();
      },
    });
    sent.on('response', (incoming) => {
      read(incoming).then(
        (answer) => {
          if (isDone) call.onLate?.(answer);
          else settle({ result: 'Answered', answer });
        },
        () => settle({ result: 'ConnectionLost' }),
      );
    });
    sent.on('error', (error) => {
      if (hasLeft) settle({ result: 'ConnectionLost' });
      else settle({ result: 'NotSent', reason: reasonOf(error) });
    });
    // The callback also runs for a failed connect, where nothing was sent.
    sent.end(call.body, () => {
      if (hasLeft) call.onSent?.();
    });
    return promise;
  }

  return {
    post,
    close() {
      for (const each of late) each.destroy();
      agent.destroy();
    },
  };
}
