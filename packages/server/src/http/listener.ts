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

export type ListenerTls = {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Asks for a client certificate of these authorities and does not require one. */
  readonly clientAuthorities?: readonly string[];
};

/** A body of 1 MiB from a slow terminal arrives within this. */
export const requestTimeoutMs = 30_000;
export const headersTimeoutMs = 10_000;
/** Longer than the usual 60 s of proxies, so that they close first and lose no request. */
export const keepAliveTimeoutMs = 72_000;
export const headerLimitBytes = 16_384;
export const headerCountLimit = 100;
export const connectionLimit = 10_000;

const limits: ServerOptions = {
  requestTimeout: requestTimeoutMs,
  headersTimeout: headersTimeoutMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  maxHeaderSize: headerLimitBytes,
  noDelay: true,
  // Of two Authorization headers neither counts: joined, they have no form that is accepted.
  joinDuplicateHeaders: true,
};

/**
 * @param isUpgrade whether a request becomes a WebSocket; every other one is plain HTTP
 * @param webSockets how many of them there may be beside the connections of HTTP
 */
export function createListener(
  handler: RequestListener,
  tls: ListenerTls | undefined,
  isUpgrade: (request: IncomingMessage) => boolean = () => false,
  webSockets = 0,
): Server {
  const options = { ...limits, shouldUpgradeCallback: isUpgrade };
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
            handshakeTimeout: headersTimeoutMs,
            ...clientCertificateOptions(tls.clientAuthorities),
          },
          handler,
        );
  server.maxHeadersCount = headerCountLimit;
  server.maxConnections = connectionLimit + webSockets;
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
