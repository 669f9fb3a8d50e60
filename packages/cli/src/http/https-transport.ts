/** One HTTPS request with every limit that a stranger's answer needs: time, size, certificate. */

import { type IncomingMessage, Agent as PlainAgent, request as sendPlain } from 'node:http';
import { Agent, request as sendSecure } from 'node:https';
import { defined } from '@switchyard/contract';
import { CommandFault, fail } from '../runtime/command-error.ts';

export type Outgoing = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** How long the answer may stand still; left out, as long as it may take to come. */
  readonly silenceMs?: number;
};

export type Incoming = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
};

export type Streamed = Omit<Incoming, 'body'> & { readonly stream: IncomingMessage };

export type Transport = {
  send(request: Outgoing): Promise<Incoming>;
  /** The body comes piece by piece; it may be of any size, and may not stand still. */
  open(request: Outgoing): Promise<Streamed>;
  close(): void;
};

export type TransportOptions = {
  readonly ca?: string | undefined;
  /** What a server is shown that asks who connects, PEM. */
  readonly identity?: { readonly cert: string; readonly key: string } | undefined;
  readonly timeoutMs: number;
};

const answerMaxBytes = 64 * 1024 * 1024;
const socketsMax = 32;
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const certificateFaults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'comes from an authority that this machine does not trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'comes from an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT: 'comes from an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'comes from an authority that this machine does not trust',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'belongs to another host',
};

const networkFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'the connection was broken off',
  EPIPE: 'the connection was broken off',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
};

/** A request that was under way may have had its effect; one that never left had none. */
export class UnreachableFault extends CommandFault {
  readonly wasSent: boolean;

  constructor(message: string, wasSent: boolean, more: readonly string[] = []) {
    super('unreachable', message, { more });
    this.wasSent = wasSent;
  }
}

function unreachable({ host }: URL, error: Error & { code?: string }): UnreachableFault {
  const { code = '', message } = error;
  const certificate = certificateFaults[code];
  if (certificate !== undefined) {
    return new UnreachableFault(`The certificate of ${host} ${certificate}.`, false, [
      'Name the certificate of its authority with --ca-file when you sign in.',
    ]);
  }
  const wasSent = !['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(code);
  return new UnreachableFault(
    `${host} was not reached: ${networkFaults[code] ?? message}.`,
    wasSent,
  );
}

const late = (url: URL, timeoutMs: number): UnreachableFault =>
  new UnreachableFault(`${url.host} did not answer within ${timeoutMs / 1000} s.`, true);

async function collect(stream: IncomingMessage, url: URL): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > answerMaxBytes) {
      stream.destroy();
      fail('fault', `The answer of ${url.host} is larger than ${answerMaxBytes >> 20} MiB.`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Plain HTTP is for this machine alone: a token would be everybody's. */
export function demandSafe(url: URL): void {
  if (url.protocol === 'https:') return;
  if (url.protocol === 'http:' && loopback.test(url.hostname)) return;
  fail('usage', `${url.origin} is no https address.`);
}

/** @example const transport = createTransport({ ca, timeoutMs: 30_000 }); */
export function createTransport({ ca, identity, timeoutMs }: TransportOptions): Transport {
  const secure = new Agent({
    keepAlive: true,
    maxSockets: socketsMax,
    ...defined({ ca }),
    ...identity,
  });
  const plain = new PlainAgent({ keepAlive: true, maxSockets: socketsMax });

  function open(request: Outgoing): Promise<Streamed> {
    const { method, url, headers, body, silenceMs = timeoutMs } = request;
    demandSafe(url);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length } };
    return new Promise((resolve, reject) => {
      const sent =
        url.protocol === 'https:'
          ? sendSecure(url, { ...options, agent: secure })
          : sendPlain(url, { ...options, agent: plain });
      const timer = setTimeout(() => sent.destroy(late(url, timeoutMs)), timeoutMs);
      sent.on('response', (stream) => {
        clearTimeout(timer);
        stream.setTimeout(silenceMs, () => stream.destroy(late(url, silenceMs)));
        resolve({ status: stream.statusCode ?? 0, headers: stream.headers, stream });
      });
      sent.on('error', (error) => {
        clearTimeout(timer);
        reject(error instanceof CommandFault ? error : unreachable(url, error));
      });
      sent.end(body);
    });
  }

  return {
    open,
    async send(request) {
      const { stream, ...head } = await open(request);
      // The whole answer has a limit too: one that drips byte by byte is never idle.
      const timer = setTimeout(() => stream.destroy(late(request.url, timeoutMs)), timeoutMs);
      try {
        return { ...head, body: await collect(stream, request.url) };
      } catch (error) {
        throw error instanceof CommandFault ? error : unreachable(request.url, error as Error);
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      secure.destroy();
      plain.destroy();
    },
  };
}
