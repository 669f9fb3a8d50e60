// WebSocket handshakes on the sockets of the server; a rejected handshake gets a problem response.
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCodes, ProblemError, throwProblem } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Ids, Log } from '../../platform/index.ts';
import { bearerPattern, readBearerToken } from '../authentication/authenticate.ts';
import type { Caller, PresentedCertificate, VerifyToken } from '../authentication/caller.ts';
import type { CertificateReader } from '../authentication/client-certificates.ts';
import type { FailedAttemptLimit } from '../limits/rate-limits.ts';
import { createRequestIdReader } from '../requests/request-id.ts';
import {
  challengeOf,
  problemMediaType,
  problemOf,
  retryAfterHeader,
  toProblemError,
} from '../responses/problem-responses.ts';
import { isUnauthenticated } from './request-pipeline.ts';
import { hstsHeaderLines } from './strict-transport-security.ts';

/** A key of 16 bytes in base64 (RFC 6455, 4.1). */
const keyPattern = /^[+/0-9A-Za-z]{22}==$/;
const webSocketVersion = '13';
/** Concurrent handshakes; the server rejects further ones with rate_limited. */
const maxPendingHandshakes = 2000;
/** Four times the fragments of a message of 1 MiB at 4 KiB each. */
const maxFragments = 1024;
/** How long the client may take to answer a close frame. */
const closeTimeoutMs = 5000;

export type Handshake = {
  readonly request: IncomingMessage;
  /** `X-Request-Id`, also in the log lines of the connection. */
  readonly id: string;
  /** The value of the path parameter; empty for a route without one. */
  readonly key: string;
  /** The caller; undefined when the route accepts a handshake without a token and has none. */
  readonly caller: Caller | undefined;
  /** The bearer token as it was sent. */
  readonly token: string | undefined;
  readonly presentedCertificate: PresentedCertificate;
  /** The IP address of the client; trusted proxies report it. */
  readonly address: string;
  /** Whether the listener for devices received the handshake. */
  readonly isDeviceListener: boolean;
};

/** The parts of a handshake before authentication. */
type UpgradeRequest = Pick<Handshake, 'request' | 'key'>;

export type AcceptedUpgrade = {
  /** Called with the open WebSocket, and with the socket below it. */
  onOpen(webSocket: WebSocket, socket: Duplex): void;
  /** Called when the client disconnected before the WebSocket was open. */
  onAbort?(): void;
};

export type WebSocketRoute = {
  /** May end with the path parameter `/:key`. */
  readonly path: string;
  /**
   * `required`: a valid token; `optional`: a sent token is verified; `own`: the route verifies the token.
   */
  readonly bearer: 'required' | 'optional' | 'own';
  readonly maxMessageBytes: number;
  /** Whether the listener for devices serves the route too. */
  readonly isOnDeviceListener: boolean;
  /** Whether this process has verified the URL before; such handshakes pass the limit of failed attempts. */
  readonly isVerified?: (request: UpgradeRequest) => boolean;
  /** @throws ProblemError when the route rejects the handshake */
  accept(handshake: Handshake): Promise<AcceptedUpgrade>;
};

export type WebSocketUpgrades = {
  add(route: WebSocketRoute): void;
  /** Whether a request is a handshake for a registered WebSocket route. */
  isWebSocketRequest(request: IncomingMessage): boolean;
  attach(server: Server, isDeviceListener: boolean): void;
  /** Rejects all further handshakes with shutting_down. */
  drain(): void;
};

type Deps = {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  readonly baseUrl: string;
  readonly verifyToken: VerifyToken;
  readonly certificates: CertificateReader;
  readonly unauthenticatedByAddress: FailedAttemptLimit;
  /** Counted separately, so that a point of sale with an old session URL does not block tokens. */
  readonly unknownSessionsByAddress: FailedAttemptLimit;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Whether each response has HSTS. */
  readonly sendsHsts: boolean;
};

type OpenRoute = { readonly route: WebSocketRoute; readonly server: WebSocketServer };
type IncomingUpgrade = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly isDeviceListener: boolean;
};

const keySuffix = '/:key';

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

/** @example const upgrades = createWebSocketUpgrades({ ids, log, baseUrl, verifyToken, certificates }); */
export function createWebSocketUpgrades(deps: Deps): WebSocketUpgrades {
  const {
    log,
    verifyToken,
    certificates,
    unauthenticatedByAddress,
    unknownSessionsByAddress,
    addressOf,
  } = deps;
  const idOf = createRequestIdReader(deps.ids.uuid);
  const routes = new Map<string, OpenRoute>();
  let pending = 0;
  let isDraining = false;

  function find(request: IncomingMessage): { opened: OpenRoute; key: string } | undefined {
    const path = pathOf(request);
    const exact = routes.get(path);
    if (exact !== undefined) return { opened: exact, key: '' };
    const end = path.lastIndexOf('/');
    const opened = routes.get(path.slice(0, end) + keySuffix);
    const key = path.slice(end + 1);
    return opened === undefined || key === '' ? undefined : { opened, key };
  }

  function checkForm({ method, headers }: IncomingMessage): void {
    if (method !== 'GET')
      throwProblem('method_not_allowed', 'A WebSocket handshake must be a GET request.');
    if (headers['sec-websocket-version'] !== webSocketVersion) {
      throwProblem('upgrade_required', 'Sec-WebSocket-Version must be 13.');
    }
    if (!keyPattern.test(headers['sec-websocket-key'] ?? '')) {
      throwProblem('header_invalid', 'Sec-WebSocket-Key is missing or malformed.');
    }
  }

  /** A page in a browser cannot set the Authorization header of a WebSocket; an application can. */
  async function callerOf(
    { bearer }: WebSocketRoute,
    request: IncomingMessage,
    presentedCertificate: PresentedCertificate,
  ): Promise<{ caller: Caller | undefined; token: string | undefined }> {
    const { origin, authorization } = request.headers;
    if (origin !== undefined && authorization === undefined) {
      throwProblem('origin_not_allowed', 'A page in a browser cannot open this WebSocket.');
    }
    if (bearer === 'optional' && authorization === undefined) {
      return { caller: undefined, token: undefined };
    }
    const token = readBearerToken(authorization);
    const caller = bearer === 'own' ? undefined : await verifyToken(token, presentedCertificate);
    return { caller, token };
  }

  /** Whether the token or the session URL is unverified, so that its check can cost a query. */
  function isUnverified({ bearer }: WebSocketRoute, { request, key }: UpgradeRequest): boolean {
    const { authorization } = request.headers;
    // Device tokens are verified without a query.
    if (bearer === 'own') return false;
    if (authorization === undefined) return bearer !== 'required' && key !== '';
    const token = bearerPattern.exec(authorization)?.[1];
    return token !== undefined && verifyToken.isVerified?.(token) !== true;
  }

  /** A handshake without a token counts against unknown sessions, any other one against failed authentications. */
  function requireAttemptsLeft({ bearer }: WebSocketRoute, request: IncomingMessage): void {
    const isAddress = bearer === 'optional' && request.headers.authorization === undefined;
    const retryAfterMs = (isAddress ? unknownSessionsByAddress : unauthenticatedByAddress).waitMs(
      addressOf(request),
    );
    if (retryAfterMs === undefined) return;
    throw new ProblemError(
      'rate_limited',
      'Too many invalid tokens or sessions were sent from this IP address; retry after the time in Retry-After.',
      {
        retryAfterMs,
      },
    );
  }

  /** Failures are counted together with those of HTTP requests. */
  function recordFailure(error: unknown, request: IncomingMessage): void {
    const isUnknownSession = error instanceof ProblemError && error.code === 'session_gone';
    if (isUnauthenticated(error)) unauthenticatedByAddress.recordFailure(addressOf(request));
    else if (isUnknownSession && request.headers.authorization === undefined) {
      unknownSessionsByAddress.recordFailure(addressOf(request));
    }
  }

  /** Applies the limit of failed attempts to unverified handshakes. */
  async function withAttemptLimit<Of>(
    route: WebSocketRoute,
    upgrade: UpgradeRequest,
    authenticate: () => Promise<Of>,
  ): Promise<Of> {
    if (!isUnverified(route, upgrade)) return authenticate();
    if (route.isVerified?.(upgrade) !== true) requireAttemptsLeft(route, upgrade.request);
    try {
      return await authenticate();
    } catch (error) {
      recordFailure(error, upgrade.request);
      throw error;
    }
  }

  async function acceptUpgrade(upgrade: IncomingUpgrade, id: string): Promise<void> {
    const { request, socket, head, isDeviceListener } = upgrade;
    if (isDraining) {
      throw new ProblemError('shutting_down', 'The process is shutting down; connect again.', {
        retryAfterMs: 1000,
      });
    }
    if (pending >= maxPendingHandshakes) {
      throw new ProblemError(
        'rate_limited',
        'Too many WebSocket handshakes at the same time; retry later.',
        { retryAfterMs: 1000 },
      );
    }
    const match = find(request);
    if (match === undefined || (isDeviceListener && !match.opened.route.isOnDeviceListener)) {
      return throwProblem(
        'route_not_found',
        'No WebSocket has this path; check the path of the request.',
      );
    }
    checkForm(request);
    certificates.removeUntrustedHeader({ raw: request });
    const { route, server } = match.opened;
    const { key } = match;
    const presentedCertificate = certificates.presentedCertificate({ raw: request });
    const address = addressOf(request);
    const authenticate = async () => {
      const identity = await callerOf(route, request, presentedCertificate);
      return route.accept({
        request,
        id,
        key,
        presentedCertificate,
        address,
        isDeviceListener,
        ...identity,
      });
    };
    const { onOpen, onAbort } = await withAttemptLimit(route, { request, key }, authenticate);
    let isOpen = false;
    server.handleUpgrade(request, socket, head, (webSocket) => {
      isOpen = true;
      onOpen(webSocket, socket);
    });
    if (!isOpen) onAbort?.();
  }

  function rejectUpgrade({ request, socket }: IncomingUpgrade, id: string, error: unknown): void {
    const problemError =
      toProblemError(error) ??
      new ProblemError(
        'internal_error',
        'An unexpected error happened in the platform; quote the requestId to its operator.',
      );
    if (problemError.code === 'internal_error')
      log.error({ err: error, requestId: id }, 'unexpected error in a WebSocket handshake');
    const isPage =
      request.headers.origin !== undefined && errorCodes[problemError.code].status === 401;
    const reportedProblem = isPage
      ? new ProblemError('origin_not_allowed', 'A page in a browser cannot open this WebSocket.')
      : problemError;
    const { code } = reportedProblem;
    log.info(
      { requestId: id, path: pathOf(request).split('/', 4).join('/'), code },
      'WebSocket handshake rejected',
    );
    writeProblem(socket, reportedProblem, id, deps);
  }

  async function handleUpgrade(upgrade: IncomingUpgrade): Promise<void> {
    const { socket } = upgrade;
    // A client that disconnects during the handshake is not an error.
    const ignore = () => {};
    socket.on('error', ignore);
    const id = idOf(upgrade.request);
    pending += 1;
    try {
      await acceptUpgrade(upgrade, id);
    } catch (error) {
      if (socket.writable) rejectUpgrade(upgrade, id, error);
      else socket.destroy();
    } finally {
      pending -= 1;
      socket.off('error', ignore);
      if (socket.listenerCount('error') === 0) socket.on('error', ignore);
    }
  }

  return {
    add(route) {
      // Compression costs eight times the CPU, and the client would choose its memory.
      const options = {
        noServer: true,
        clientTracking: false,
        perMessageDeflate: false,
        maxPayload: route.maxMessageBytes,
        maxFragments,
        closeTimeout: closeTimeoutMs,
        // The module that owns the connection answers pings, at the speed of the client.
        autoPong: false,
      };
      const server = new WebSocketServer(options);
      server.on('headers', (head) => head.push(...hstsHeaderLines(deps.sendsHsts)));
      routes.set(route.path, { route, server });
    },
    isWebSocketRequest: (request) =>
      request.headers.upgrade?.toLowerCase() === 'websocket' && find(request) !== undefined,
    attach(server, isDeviceListener) {
      server.on('upgrade', (request, socket, head) => {
        void handleUpgrade({ request, socket, head, isDeviceListener });
      });
    },
    drain() {
      isDraining = true;
    },
  };
}

function writeProblem(
  socket: Duplex,
  problemError: ProblemError,
  id: string,
  { baseUrl, sendsHsts }: Pick<Deps, 'baseUrl' | 'sendsHsts'>,
): void {
  const { status } = errorCodes[problemError.code];
  const body = JSON.stringify(problemOf(problemError, id, baseUrl));
  const challenge = challengeOf(problemError);
  const retryAfter = retryAfterHeader(problemError);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'Cache-Control: no-store',
    ...hstsHeaderLines(sendsHsts),
    ...(challenge === undefined ? [] : [`WWW-Authenticate: ${challenge}`]),
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
    ...(status === 426 ? ['Upgrade: websocket', 'Sec-WebSocket-Version: 13'] : []),
    'Connection: close',
  ];
  // The client may never read, so the socket is destroyed when the response is sent.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
