// Creates the HTTP or HTTPS server: TLS, timeouts, and limits of headers and connections.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { limitIncompleteRequests, type SessionTicketKeys } from '../../platform/index.ts';
import { connectionLimit, type NewConnectionLimits } from '../limits/new-connection-limits.ts';
import { hstsServerOptions } from './strict-transport-security.ts';

export type ListenerTls = {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Requests a client certificate of these authorities and does not require one. */
  readonly clientAuthorities?: readonly string[];
  /** Left out: a client can resume its session only at the same process. */
  readonly sessionTickets?: Pick<SessionTicketKeys, 'attach'>;
};

/** Longer than the usual 60 s of proxies, so that the proxy closes first and loses no request. */
export const keepAliveTimeoutMs = 72_000;
/** A till that reconnects within this time resumes its session, which costs about half of a new one. */
const sessionTimeoutSeconds = 3600;
/** The same in all processes, unlike the default of Node, which depends on the command line. */
const sessionIdContext = 'switchyard';
export const headerLimitBytes = 16_384;
export const headerCountLimit = 100;

const limits: ServerOptions = {
  keepAliveTimeout: keepAliveTimeoutMs,
  maxHeaderSize: headerLimitBytes,
  noDelay: true,
  // Two joined Authorization headers are invalid, so neither of them is accepted.
  joinDuplicateHeaders: true,
};

type ListenerOptions = {
  readonly tls: ListenerTls | undefined;
  readonly newConnections: NewConnectionLimits;
  /** Whether a request becomes a WebSocket. */
  isUpgrade(request: IncomingMessage): boolean;
  /** The maximum number of WebSockets besides HTTP connections. */
  readonly webSockets: number;
  /** Whether each response has HSTS. */
  readonly sendsHsts: boolean;
};

/** The share of connections that may be without a request. */
const newConnectionShare = 0.5;

/** @example const server = createListener(handle, { tls, newConnections, isUpgrade: () => false, webSockets: 0, sendsHsts: false }); */
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
          { ...options, ...encryptionOptions(tls), handshakeTimeout: handshakeMs },
          handler,
        );
  if (tls !== undefined && server instanceof TlsServer) {
    tls.sessionTickets?.attach(server, [tls.cert.toString(), ...(tls.clientAuthorities ?? [])]);
  }
  server.prependListener('request', limitIncompleteRequests(server, requestMs));
  server.maxHeadersCount = headerCountLimit;
  const maxConnections = connectionLimit + webSockets;
  server.maxConnections = maxConnections;
  newConnections.watch(server, tls !== undefined, Math.ceil(maxConnections * newConnectionShare));
  return server;
}

function encryptionOptions({ cert, key, clientAuthorities }: ListenerTls): TlsOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
    ALPNProtocols: ['http/1.1'],
    sessionTimeout: sessionTimeoutSeconds,
    sessionIdContext,
    ...clientCertificateOptions(clientAuthorities),
  };
}

/**
 * TLS accepts invalid certificates, so that the HTTP response can name the error: code that reads a
 * certificate must verify it.
 */
function clientCertificateOptions(authorities: readonly string[] | undefined): TlsOptions {
  if (authorities === undefined) return {};
  return {
    ca: [...authorities],
    // An operator may configure an issuing authority without its root.
    allowPartialTrustChain: true,
    requestCert: true,
    rejectUnauthorized: false,
  };
}
