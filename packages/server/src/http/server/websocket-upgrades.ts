// WebSocket handshakes on the sockets of the server: who is turned away hears why in HTTP.
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCodes, Refusal, refuse } from '@switchyard/contract';
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
  refusalOf,
  retryAfterHeader,
} from '../responses/problem-responses.ts';
import { isUnauthenticated } from './request-pipeline.ts';
import { hstsHeaderLines } from './strict-transport-security.ts';

/** A key of 16 bytes in base64 (RFC 6455, 4.1). */
const keyPattern = /^[+/0-9A-Za-z]{22}==$/;
const webSocketVersion = '13';
/** Handshakes that are being looked at; more are told to come back. */
const maxPendingHandshakes = 2000;
/** Least fragments that a message of a mebibyte needs at the usual 4 KiB, four times over. */
const maxFragments = 1024;
/** How long the peer may take to answer a closing. */
const closeTimeoutMs = 5000;

export type Handshake = {
  readonly request: IncomingMessage;
  /** `X-Request-Id`: also the correlation of what is logged about the connection. */
  readonly id: string;
  /** What follows the path of the route, where it has a last part that varies. */
  readonly key: string;
  /** Who asks; absent where the route lets in strangers, and nobody said who he is. */
  readonly caller: Caller | undefined;
  /** The bearer token as it was sent. */
  readonly token: string | undefined;
  readonly presentedCertificate: PresentedCertificate;
  /** Where it came from, as far as proxies that are trusted tell it. */
  readonly address: string;
  /** Whether it came in where devices show their certificates. */
  readonly isDeviceListener: boolean;
};

/** What is seen of a handshake before anything is looked up. */
type UpgradeRequest = Pick<Handshake, 'request' | 'key'>;

export type AcceptedUpgrade = {
  /** What is done with the connection once it is open. */
  onOpen(socket: WebSocket): void;
  /** The peer was gone before it was open. */
  onAbort?(): void;
};

export type WebSocketRoute = {
  /** Ends with `/:key` where the last part varies. */
  readonly path: string;
  /**
   * `required`: the token of a caller; `optional`: one that is sent is checked; `own`: the route looks at it
   * itself; `page`: a page of our own, which can show none, and the route looks where it comes from.
   */
  readonly bearer: 'required' | 'optional' | 'own' | 'page';
  readonly maxMessageBytes: number;
  /** Served to devices at their own listener too. */
  readonly isOnDeviceListener: boolean;
  /** Whether its address or its page was found good here: it is looked at, whatever else came from there. */
  readonly isVerified?: (request: UpgradeRequest) => boolean;
  /** Throws a Refusal for whom it does not let in. */
  accept(handshake: Handshake): Promise<AcceptedUpgrade>;
};

export type WebSocketUpgrades = {
  add(route: WebSocketRoute): void;
  /** Whether a request asks for a WebSocket that there is: everything else is plain HTTP. */
  isWebSocketRequest(request: IncomingMessage): boolean;
  attach(server: Server, isDeviceListener: boolean): void;
  /** From here on everybody is told to come back. */
  drain(): void;
};

type Deps = {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  readonly baseUrl: string;
  readonly verifyToken: VerifyToken;
  readonly certificates: CertificateReader;
  readonly unauthenticatedByAddress: FailedAttemptLimit;
  /** Of addresses of sessions that are nobody's: a till that comes too late takes nothing from tokens. */
  readonly unknownSessionsByAddress: FailedAttemptLimit;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Whether each response has HSTS, refused or not. */
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

/** @example const upgrades = createUpgrades({ ids, log, baseUrl, verifyToken, certificates }); */
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
    if (method !== 'GET') refuse('method_not_allowed', 'A WebSocket is opened by GET.');
    if (headers['sec-websocket-version'] !== webSocketVersion) {
      refuse('upgrade_required', 'The WebSocket has another version than 13.');
    }
    if (!keyPattern.test(headers['sec-websocket-key'] ?? '')) {
      refuse('header_invalid', 'Sec-WebSocket-Key is missing or malformed.');
    }
  }

  /** A page cannot set the header that proves who it is, and an application shell can. */
  async function callerOf(
    { bearer }: WebSocketRoute,
    request: IncomingMessage,
    presentedCertificate: PresentedCertificate,
  ): Promise<{ caller: Caller | undefined; token: string | undefined }> {
    const { origin, authorization } = request.headers;
    if (bearer === 'page') return { caller: undefined, token: undefined };
    if (origin !== undefined && authorization === undefined) {
      refuse('origin_not_allowed', 'A page in a browser cannot use this address.');
    }
    if (bearer === 'optional' && authorization === undefined) {
      return { caller: undefined, token: undefined };
    }
    const token = readBearerToken(authorization);
    const caller = bearer === 'own' ? undefined : await verifyToken(token, presentedCertificate);
    return { caller, token };
  }

  /** A token that nobody has seen here, or an address that may be somebody's, can cost a question elsewhere. */
  function isUnverified({ bearer }: WebSocketRoute, { request, key }: UpgradeRequest): boolean {
    const { authorization } = request.headers;
    // The tokens of devices prove themselves.
    if (bearer === 'own') return false;
    if (authorization === undefined || bearer === 'page')
      return bearer !== 'required' && key !== '';
    const token = bearerPattern.exec(authorization)?.[1];
    return token !== undefined && verifyToken.isVerified?.(token) !== true;
  }

  /** Who shows an address alone waits for others that were nobody's, and whoever shows more for tokens that were. */
  function requireAttemptsLeft({ bearer }: WebSocketRoute, request: IncomingMessage): void {
    const isAddress = bearer === 'optional' && request.headers.authorization === undefined;
    const retryAfterMs = (isAddress ? unknownSessionsByAddress : unauthenticatedByAddress).waitMs(
      addressOf(request),
    );
    if (retryAfterMs === undefined) return;
    throw new Refusal('rate_limited', 'Too much that is not valid came from there.', {
      retryAfterMs,
    });
  }

  /** Tokens and sessions of nobody are counted with those that come by HTTP. */
  function recordFailure(error: unknown, request: IncomingMessage): void {
    const isUnknownSession = error instanceof Refusal && error.code === 'session_gone';
    if (isUnauthenticated(error)) unauthenticatedByAddress.recordFailure(addressOf(request));
    else if (isUnknownSession && request.headers.authorization === undefined) {
      unknownSessionsByAddress.recordFailure(addressOf(request));
    }
  }

  /** Behind so many of an address no other is looked at, but for what was found good here. */
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
      throw new Refusal('shutting_down', 'The process takes no new connections.', {
        retryAfterMs: 1000,
      });
    }
    if (pending >= maxPendingHandshakes) {
      throw new Refusal('rate_limited', 'Too many connect at once.', { retryAfterMs: 1000 });
    }
    const match = find(request);
    if (match === undefined || (isDeviceListener && !match.opened.route.isOnDeviceListener)) {
      return refuse('route_not_found', 'No operation has this path.');
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
      onOpen(webSocket);
    });
    if (!isOpen) onAbort?.();
  }

  function rejectUpgrade({ request, socket }: IncomingUpgrade, id: string, error: unknown): void {
    const refusal = refusalOf(error) ?? new Refusal('internal_error', 'A fault of the platform.');
    if (refusal.code === 'internal_error') log.error({ err: error, requestId: id }, 'no handshake');
    const isPage = request.headers.origin !== undefined && errorCodes[refusal.code].status === 401;
    const shownRefusal = isPage
      ? new Refusal('origin_not_allowed', 'A page in a browser cannot use this address.')
      : refusal;
    const { code } = shownRefusal;
    log.info({ requestId: id, path: pathOf(request).split('/', 4).join('/'), code }, 'handshake');
    writeProblem(socket, shownRefusal, id, deps);
  }

  async function handleUpgrade(upgrade: IncomingUpgrade): Promise<void> {
    const { socket } = upgrade;
    // A peer that goes away meanwhile is nobody's fault.
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
      // Deflate costs eight times the CPU, and its memory is for the peer to choose.
      const options = {
        noServer: true,
        clientTracking: false,
        perMessageDeflate: false,
        maxPayload: route.maxMessageBytes,
        maxFragments: maxFragments,
        closeTimeout: closeTimeoutMs,
        // Whoever has the connection answers pings, as far as the peer reads the answers.
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
  refusal: Refusal,
  id: string,
  { baseUrl, sendsHsts }: Pick<Deps, 'baseUrl' | 'sendsHsts'>,
): void {
  const { status } = errorCodes[refusal.code];
  const body = JSON.stringify(problemOf(refusal, id, baseUrl));
  const challenge = challengeOf(refusal);
  const retryAfter = retryAfterHeader(refusal);
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
  // The peer may never read: ended for writing, and destroyed as soon as that is through.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
