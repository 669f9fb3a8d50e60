// Calls servers of others: to public addresses alone, without redirects, within time and size.
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';
import { isLoopbackHost } from './address-classes.ts';
import type { AddressLookup } from './dns-lookup.ts';
import { type AnswerLimits, type CallResult, exchange, wasStale } from './outgoing-request.ts';
import { type AllowedAddress, createAddressGuard } from './ssrf-guard.ts';

export type { CallFault, CallResult } from './outgoing-request.ts';

const defaultTimeoutMs = 15_000;
const defaultAnswerLimitBytes = 65_536;
/** Below the five seconds after which many servers hang up: the first to hang up is never wrong. */
const idleMs = 4_000;
const defaultConnectionsPerServer = 256;
const freeConnectionsPerServer = 64;
/** A server that moves is followed after so long, and no call is longer. */
const generationMs = 300_000;

export type OutgoingCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly answerLimitBytes?: number;
  /** The first bytes of a longer answer will do, in place of a fault. */
  readonly keepsStart?: true;
  /**
   * The other side knows a repetition by what stands in it: sent again where a connection that was
   * kept turns out to be closed. A GET always is.
   */
  readonly isRepeatable?: true;
  /** An abort ends the call as its time does. */
  readonly signal?: AbortSignal;
};

export type OutgoingCalls = {
  /** Never throws for what the other side does or fails to do. Connections are kept for the next one. */
  call(url: string, call: OutgoingCall): Promise<CallResult>;
  /** A message with an identifier by which a repetition is known. */
  post(
    url: string,
    call: { headers: Readonly<Record<string, string>>; body: string },
  ): Promise<CallResult>;
  /** The fault of an address that a tenant saves; undefined if there is none. */
  faultOf(url: string): Promise<string | undefined>;
  /** Lets go of the connections that are kept. */
  close(): void;
};

export type OutgoingCallsDeps = {
  /** In the demo: servers on this machine, and those without TLS. */
  readonly allowsLoopback: boolean;
  /** Addresses that are not public and that the operator allows. */
  readonly allowedAddresses?: readonly AllowedAddress[];
  /** Ports at public addresses; all ports if undefined. */
  readonly ports?: readonly number[] | undefined;
  readonly timeoutMs?: number;
  readonly answerLimitBytes?: number;
  readonly connectionsPerServer?: number;
  readonly lookup?: AddressLookup;
  /** Certificates of authorities in place of the well-known ones, PEM. */
  readonly authorities?: string;
};

type Agents = { readonly plain: PlainAgent; readonly tls: TlsAgent; readonly madeAt: number };

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** `[::1]` is `::1` to everybody but addresses. */
const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '');

const portOf = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80));

function faultOfText(text: string, allowsLoopback: boolean): string | undefined {
  const url = parsed(text);
  if (url === undefined) return 'is no address';
  if (url.username !== '' || url.password !== '') return 'must hold no user name and no password';
  if (url.hash !== '') return 'must hold no fragment';
  const host = hostOf(url);
  const isHere = allowsLoopback && isLoopbackHost(host);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere)) return 'must be https';
  return undefined;
}

function headersOf({ headers, body }: OutgoingCall): Record<string, string> {
  const described = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body ?? '')),
  };
  return { accept: 'application/json', ...(body === undefined ? {} : described), ...headers };
}

/** A new generation of connections now and then; the one before it has ended its calls by the next. */
function createGenerations(options: {
  readonly ca: string | undefined;
  readonly connectionsPerServer: number;
}) {
  const { ca, connectionsPerServer } = options;
  let agents: Agents | undefined;
  let before: Agents | undefined;

  function make(madeAt: number): Agents {
    const pool = {
      keepAlive: true,
      timeout: idleMs,
      maxSockets: connectionsPerServer,
      maxFreeSockets: freeConnectionsPerServer,
    };
    const tls = new TlsAgent({
      ...pool,
      minVersion: 'TLSv1.2',
      ...defined({ ca }),
    });
    return { plain: new PlainAgent(pool), tls, madeAt };
  }

  function destroy(these: Agents | undefined): void {
    these?.plain.destroy();
    these?.tls.destroy();
  }

  return {
    now(): Agents {
      const at = performance.now();
      if (agents !== undefined && at - agents.madeAt < generationMs) return agents;
      destroy(before);
      before = agents;
      agents = make(at);
      return agents;
    },
    close(): void {
      destroy(before);
      destroy(agents);
    },
  };
}

/** @example const calls = createOutgoingCalls({ allowsLoopback: false }); */
export function createOutgoingCalls(deps: OutgoingCallsDeps): OutgoingCalls {
  const { allowsLoopback } = deps;
  const guard = createAddressGuard(deps);
  const ca = deps.authorities;
  const { connectionsPerServer = defaultConnectionsPerServer } = deps;
  const generations = createGenerations({ ca, connectionsPerServer });

  function attempt(url: URL, given: OutgoingCall, limits: AnswerLimits, isAlone = false) {
    const { plain, tls } = generations.now();
    const isTls = url.protocol === 'https:';
    // The agents have no lookup of their own: theirs would replace this one, which knows the port.
    const lookup = guard.lookupFor(portOf(url));
    const options = { method: given.method, headers: headersOf(given), lookup };
    const alone = { agent: false, ...defined({ ca }) } as const;
    const through = isAlone ? alone : { agent: isTls ? tls : plain };
    const request = (isTls ? tlsRequest : plainRequest)(url, { ...options, ...through });
    return exchange(request, given.body, limits);
  }

  function findFault(text: string): string | undefined {
    const fault = faultOfText(text, allowsLoopback);
    if (fault !== undefined) return fault;
    const url = new URL(text);
    return guard.findHostFault(hostOf(url), portOf(url));
  }

  async function call(text: string, given: OutgoingCall): Promise<CallResult> {
    const url = parsed(text);
    if (url === undefined || findFault(text) !== undefined) {
      return { fault: 'address_refused', ms: 0, isSent: false };
    }
    const limits = {
      timeoutMs: given.timeoutMs ?? deps.timeoutMs ?? defaultTimeoutMs,
      answerLimitBytes: given.answerLimitBytes ?? deps.answerLimitBytes ?? defaultAnswerLimitBytes,
      keepsStart: given.keepsStart === true,
      ...defined({ signal: given.signal }),
    };
    const start = performance.now();
    const first = await attempt(url, given, limits);
    if (first !== wasStale) return first;
    const passedMs = Math.round(performance.now() - start);
    const lost = { fault: 'unreachable', ms: passedMs, isSent: true } as const;
    if (given.method !== 'GET' && given.isRepeatable !== true) return lost;
    // Both within the one time: whoever has made the call counts on it.
    const timeoutMs = limits.timeoutMs - passedMs;
    if (timeoutMs <= 0) return { ...lost, fault: 'timed_out' };
    const second = await attempt(url, given, { ...limits, timeoutMs }, true);
    if (second === wasStale) return lost;
    const ms = passedMs + second.ms;
    // The first one may have arrived, whatever became of its repetition.
    return second.fault === undefined ? { ...second, ms } : { ...second, ms, isSent: true };
  }

  return {
    call,
    post: (url, message) => call(url, { method: 'POST', isRepeatable: true, ...message }),
    async faultOf(text) {
      const fault = findFault(text);
      if (fault !== undefined) return fault;
      const url = new URL(text);
      return guard.resolveHostFault(hostOf(url), portOf(url));
    },
    close: generations.close,
  };
}
