// The socket side of the server: TLS, time-outs and the limits of what HTTP may weigh.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { limitIncompleteRequests } from '../../platform/index.ts';
import { connectionLimit, type NewConnectionLimits } from '../limits/new-connection-limits.ts';
import { hstsServerOptions } from './strict-transport-security.ts';

export type ListenerTls = {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Asks for a client certificate of these authorities and does not require one. */
  readonly clientAuthorities?: readonly string[];
};

/** Longer than the usual 60 s of proxies, so that they close first and lose no request. */
export const keepAliveTimeoutMs = 72_000;
export const headerLimitBytes = 16_384;
export const headerCountLimit = 100;

const limits: ServerOptions = {
  keepAliveTimeout: keepAliveTimeoutMs,
  maxHeaderSize: headerLimitBytes,
  noDelay: true,
  // Of two Authorization headers neither counts: joined, they have no form that is accepted.
  joinDuplicateHeaders: true,
};

type ListenerOptions = {
  readonly tls: ListenerTls | undefined;
  readonly newConnections: NewConnectionLimits;
  /** Whether a request becomes a WebSocket; every other one is plain HTTP. */
  isUpgrade(request: IncomingMessage): boolean;
  /** How many WebSockets there may be beside the connections of HTTP. */
  readonly webSockets: number;
  /** Whether each response has HSTS. */
  readonly sendsHsts: boolean;
};

/** Of the connections of a listener so many may be such that have asked for nothing yet. */
const newConnectionShare = 0.5;

/** @example const server = createListener(handle, { tls, arrivals, isUpgrade: () => false, webSockets: 0, isStrict: false }); */
export function createListener(
  handler: RequestListener,
  { tls, newConnections, isUpgrade, webSockets, sendsHsts }: ListenerOptions,
): Server {
  const { handshakeMs, headersMs, requestMs, checkIntervalMs } = newConnections.timeouts;
  const options = {
    ...limits,
    ...hstsServerOptions(sendsHsts),
    shouldUpgradeCallback: isUpgrade,
    headersTimeout: headersMs,
    requestTimeout: 0,
    connectionsCheckingInterval: checkIntervalMs,
  };
  const server =
    tls === undefined
      ? createServer(options, handler)
      : createTlsServer(
          {
            ...options,
            cert: tls.cert,
            key: tls.key,
            minVersion: 'TLSv1.2',
            maxVersion: 'TLSv1.3',
            ALPNProtocols: ['http/1.1'],
            handshakeTimeout: handshakeMs,
            ...clientCertificateOptions(tls.clientAuthorities),
          },
          handler,
        );
  server.prependListener('request', limitIncompleteRequests(server, requestMs));
  server.maxHeadersCount = headerCountLimit;
  const maxConnections = connectionLimit + webSockets;
  server.maxConnections = maxConnections;
  newConnections.watch(server, tls !== undefined, Math.ceil(maxConnections * newConnectionShare));
  return server;
}

/**
 * Bad certificates come through as well, so that their owner is told in HTTP what is wrong: who
 * reads a certificate has to look at it. Ticket keys are those of the server alone, made at random.
 */
function clientCertificateOptions(authorities: readonly string[] | undefined): TlsOptions {
  if (authorities === undefined) return {};
  return {
    ca: [...authorities],
    // An operator may name the authority that issues, without the root above it.
    allowPartialTrustChain: true,
    requestCert: true,
    rejectUnauthorized: false,
  };
}
