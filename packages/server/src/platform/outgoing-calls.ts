// Calls servers of others: to public addresses alone, without redirects, within time and size.
import { lookup as systemLookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isLoopbackHost } from './loopback.ts';
import { isPublicAddress } from './private-addresses.ts';

const defaultTimeoutMs = 15_000;
const defaultAnswerLimitBytes = 65_536;

type Address = { readonly address: string; readonly family: number };

export type CallFault = 'address_refused' | 'unreachable' | 'timed_out' | 'answer_too_large';

export type CallResult =
  | { readonly status: number; readonly body: string; readonly fault?: undefined }
  | { readonly fault: CallFault };

export type OutgoingCalls = {
  /** JSON; never throws for what the other side does or fails to do. */
  post(url: string, call: { headers: Record<string, string>; body: string }): Promise<CallResult>;
  /** What is wrong with the text of an address, before anybody is asked; nothing where it will do. */
  faultOf(url: string): string | undefined;
};

export type OutgoingCallsDeps = {
  /** In the demo: servers on this machine, and those without TLS. */
  readonly allowsLoopback: boolean;
  readonly timeoutMs?: number;
  readonly answerLimitBytes?: number;
  readonly lookup?: (host: string) => Promise<readonly Address[]>;
};

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** `[::1]` is `::1` to everybody but addresses. */
const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '');

/** The name is asked for once, and what was checked is what is connected to. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else done(null, first?.address ?? '', first?.family);
  };
}

async function bodyOf(answer: IncomingMessage, limitBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limitBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @example const calls = createOutgoingCalls({ allowsLoopback: false }); */
export function createOutgoingCalls(deps: OutgoingCallsDeps): OutgoingCalls {
  const { allowsLoopback, timeoutMs = defaultTimeoutMs } = deps;
  const { answerLimitBytes = defaultAnswerLimitBytes } = deps;
  const lookup = deps.lookup ?? ((host) => systemLookup(host, { all: true }));

  const isAllowed = ({ address }: Address) =>
    isPublicAddress(address) || (allowsLoopback && isLoopbackHost(address));

  function faultOf(text: string): string | undefined {
    const url = parsed(text);
    if (url === undefined) return 'is no address';
    if (url.username !== '' || url.password !== '') return 'must hold no user name and no password';
    if (url.hash !== '') return 'must hold no fragment';
    const isHere = allowsLoopback && isLoopbackHost(hostOf(url));
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere)) return 'must be https';
    const host = hostOf(url);
    const isLiteral = /^[\d.]+$|:/.test(host);
    if (!isHere && (isLoopbackHost(host) || (isLiteral && !isPublicAddress(host)))) {
      return 'must lead to a public address';
    }
    return undefined;
  }

  async function exchange(
    url: URL,
    addresses: readonly Address[],
    call: { headers: Record<string, string>; body: string },
    signal: AbortSignal,
  ): Promise<CallResult> {
    const options: RequestOptions = {
      method: 'POST',
      agent: false,
      signal,
      lookup: pinned(addresses),
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(call.body)),
        accept: 'application/json',
        ...call.headers,
      },
    };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
      const request = send(url, options, resolve);
      request.on('error', reject);
      request.end(call.body);
    });
    const body = await bodyOf(answer, answerLimitBytes);
    answer.destroy();
    if (body === undefined) return { fault: 'answer_too_large' };
    return { status: answer.statusCode ?? 0, body };
  }

  return {
    faultOf,
    async post(text, call) {
      const url = parsed(text);
      if (url === undefined || faultOf(text) !== undefined) return { fault: 'address_refused' };
      const signal = AbortSignal.timeout(timeoutMs);
      const late = new Promise<undefined>((resolve) => {
        signal.addEventListener('abort', () => resolve(undefined), { once: true });
      });
      try {
        // A name server that hangs must not hang us: its answer then comes too late.
        const addresses = await Promise.race([lookup(hostOf(url)), late]);
        if (addresses === undefined) return { fault: 'timed_out' };
        if (addresses.length === 0 || !addresses.every(isAllowed)) {
          return { fault: 'address_refused' };
        }
        return await exchange(url, addresses, call, signal);
      } catch {
        // Whatever it was, it was theirs: a refused connection, a bad certificate, half an answer.
        return { fault: signal.aborted ? 'timed_out' : 'unreachable' };
      }
    },
  };
}
