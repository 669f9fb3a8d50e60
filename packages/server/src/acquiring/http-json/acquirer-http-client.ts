// One call to an HTTP/JSON acquirer, with exact knowledge of whether any of it may have left.
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
  /** Called once the bytes are with the system. */
  onSent?: (() => void) | undefined;
  /** Gets an answer that came after its time, as long as somebody still listens for it. */
  onLate?: ((answer: ReceivedAnswer) => void) | undefined;
};

export type Calls = { post(call: Call): Promise<CallResult>; close(): void };

type Options = {
  host: string;
  port: number;
  tls: boolean;
  /** What the acquirer is shown where it asks, and whom we believe. */
  identity?: TlsIdentity | undefined;
  lateMs: number;
  /** What comes beyond waits for one of them. */
  connectionsMax?: number;
  /** For that wait, and once more for the making of a connection. */
  connectTimeoutMs?: number;
};

const connectionsMaxDefault = 256;
const freeConnectionsMax = 16;
/** Below the five seconds after which many servers hang up: the first to hang up is never wrong. */
const idleMs = 4000;
/** Who does not take a connection in this time is not there, or has too much to do; nothing was sent. */
const connectTimeoutDefaultMs = 3000;
const answerBytesMax = 65_536;
/** Late answers that are listened for at a time. */
const lateMax = 1000;

/** Clients see it: it tells what went wrong, and not where the acquirer is. */
function reasonOf({ code = '' }: NodeJS.ErrnoException): string {
  return /^[A-Z0-9_]{3,60}$/.test(code) ? `no connection: ${code}` : 'no connection';
}

async function read(incoming: IncomingMessage): Promise<ReceivedAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > answerBytesMax) throw new Error('the answer is too long');
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
    // Of the wait for others to be answered first: after it there is still time to go another way.
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
    // Of a connection that never came to be, the end is told as well: nothing had left.
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
