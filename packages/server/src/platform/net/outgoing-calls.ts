// Calls servers of tenants: only to allowed addresses, without redirects, with limits for time and size.
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';
import { isLoopbackHost } from './address-classes.ts';
import type { AddressLookup } from './dns-lookup.ts';
import {
  type CallResult,
  type ResponseLimits,
  sendRequest,
  staleConnection,
} from './outgoing-request.ts';
import { type AllowedAddress, createAddressGuard } from './ssrf-guard.ts';

export type { CallFault, CallResult } from './outgoing-request.ts';

const defaultTimeoutMs = 15_000;
const defaultMaxResponseBytes = 65_536;
/**
 * Servers close idle connections after 5 s (Node, Apache) to 75 s (nginx). This side closes first, or
 * a second before the time in `Keep-Alive`, so a POST that is sent only once does not meet a closing one.
 */
const idleMs = 4_000;
const defaultConnectionsPerServer = 256;
const freeConnectionsPerServer = 64;
/** After this time connections are opened again, so that a changed address is used. No call takes longer. */
const generationMs = 300_000;

export type OutgoingCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  /** A longer response body is truncated, and no error. */
  readonly acceptsTruncatedBody?: true;
  /**
   * The server recognises a repeated request, so it is sent again after a reused connection breaks,
   * although the server may have read the first one. A GET is always sent again.
   */
  readonly isIdempotent?: true;
  /** An abort ends the call like its time-out. */
  readonly signal?: AbortSignal;
};

export type OutgoingCalls = {
  /** Never throws for errors of the other side. Connections stay open for the next call. */
  call(url: string, call: OutgoingCall): Promise<CallResult>;
  /** Sends a message with an identifier by which the receiver recognises repetitions. */
  post(
    url: string,
    call: { headers: Readonly<Record<string, string>>; body: string },
  ): Promise<CallResult>;
  /** The reason why a URL of a tenant is not allowed; undefined if it is allowed. */
  findAddressFault(url: string): Promise<string | undefined>;
  /** Closes the idle connections. */
  close(): void;
};

export type OutgoingCallsDeps = {
  /** For the demo: allows servers on this machine, and http to them. */
  readonly allowsLoopback: boolean;
  /** Addresses that are not public and that the operator allows. */
  readonly allowedAddresses?: readonly AllowedAddress[];
  /** Ports at public addresses; all ports if undefined. */
  readonly ports?: readonly number[] | undefined;
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  readonly connectionsPerServer?: number;
  readonly lookup?: AddressLookup;
  /** Certificates of authorities, PEM, in place of the well-known ones. */
  readonly caCertificates?: string;
};

type Agents = { readonly plain: PlainAgent; readonly tls: TlsAgent; readonly createdAt: number };

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** A URL writes `::1` as `[::1]`. */
const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '');

const portOf = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80));

function findUrlFault(text: string, allowsLoopback: boolean): string | undefined {
  const url = parseUrl(text);
  if (url === undefined) return 'is no address';
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or a password';
  if (url.hash !== '') return 'must not contain a fragment';
  const host = hostOf(url);
  const isAllowedLoopback = allowsLoopback && isLoopbackHost(host);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isAllowedLoopback))
    return 'must be https';
  return undefined;
}

function headersOf({ headers, body }: OutgoingCall): Record<string, string> {
  const contentHeaders = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body ?? '')),
  };
  return { accept: 'application/json', ...(body === undefined ? {} : contentHeaders), ...headers };
}

/** Replaces the agents after a while; the previous agents have finished their calls by the next change. */
function createAgentRotation(options: {
  readonly ca: string | undefined;
  readonly connectionsPerServer: number;
}) {
  const { ca, connectionsPerServer } = options;
  let current: Agents | undefined;
  let previous: Agents | undefined;

  function createAgents(createdAt: number): Agents {
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
    return { plain: new PlainAgent(pool), tls, createdAt };
  }

  function destroy(agents: Agents | undefined): void {
    agents?.plain.destroy();
    agents?.tls.destroy();
  }

  return {
    currentAgents(): Agents {
      const nowMs = performance.now();
      if (current !== undefined && nowMs - current.createdAt < generationMs) return current;
      destroy(previous);
      previous = current;
      current = createAgents(nowMs);
      return current;
    },
    close(): void {
      destroy(previous);
      destroy(current);
    },
  };
}

/** @example const calls = createOutgoingCalls({ allowsLoopback: false }); */
export function createOutgoingCalls(deps: OutgoingCallsDeps): OutgoingCalls {
  const { allowsLoopback } = deps;
  const guard = createAddressGuard(deps);
  const ca = deps.caCertificates;
  const { connectionsPerServer = defaultConnectionsPerServer } = deps;
  const agentRotation = createAgentRotation({ ca, connectionsPerServer });

  function attempt(
    url: URL,
    outgoing: OutgoingCall,
    limits: ResponseLimits,
    usesNewConnection = false,
  ) {
    const { plain, tls } = agentRotation.currentAgents();
    const isTls = url.protocol === 'https:';
    // The agents have no lookup of their own: it would replace this one, which knows the port.
    const lookup = guard.lookupFor(portOf(url));
    const options = { method: outgoing.method, headers: headersOf(outgoing), lookup };
    const newConnection = { agent: false, ...defined({ ca }) } as const;
    const agentOptions = usesNewConnection ? newConnection : { agent: isTls ? tls : plain };
    const request = (isTls ? tlsRequest : plainRequest)(url, { ...options, ...agentOptions });
    return sendRequest(request, outgoing.body, limits);
  }

  function findFault(text: string): string | undefined {
    const fault = findUrlFault(text, allowsLoopback);
    if (fault !== undefined) return fault;
    const url = new URL(text);
    return guard.findHostFault(hostOf(url), portOf(url));
  }

  async function call(text: string, outgoing: OutgoingCall): Promise<CallResult> {
    const url = parseUrl(text);
    if (url === undefined || findFault(text) !== undefined) {
      return { fault: 'address_refused', ms: 0, possiblySent: false };
    }
    const limits = {
      timeoutMs: outgoing.timeoutMs ?? deps.timeoutMs ?? defaultTimeoutMs,
      maxResponseBytes:
        outgoing.maxResponseBytes ?? deps.maxResponseBytes ?? defaultMaxResponseBytes,
      acceptsTruncatedBody: outgoing.acceptsTruncatedBody === true,
      ...defined({ signal: outgoing.signal }),
    };
    const start = performance.now();
    const first = await attempt(url, outgoing, limits);
    if (first !== staleConnection) return first;
    const passedMs = Math.round(performance.now() - start);
    const lost = { fault: 'unreachable', ms: passedMs, possiblySent: true } as const;
    if (outgoing.method !== 'GET' && outgoing.isIdempotent !== true) return lost;
    // Both attempts share the time limit of the caller.
    const timeoutMs = limits.timeoutMs - passedMs;
    if (timeoutMs <= 0) return { ...lost, fault: 'timed_out' };
    const second = await attempt(url, outgoing, { ...limits, timeoutMs }, true);
    if (second === staleConnection) return lost;
    const ms = passedMs + second.ms;
    // The first attempt may have reached the server.
    return second.fault === undefined ? { ...second, ms } : { ...second, ms, possiblySent: true };
  }

  return {
    call,
    post: (url, message) => call(url, { method: 'POST', isIdempotent: true, ...message }),
    async findAddressFault(text) {
      const fault = findFault(text);
      if (fault !== undefined) return fault;
      const url = new URL(text);
      return guard.resolveHostFault(hostOf(url), portOf(url));
    },
    close: agentRotation.close,
  };
}
