/** The control connection of a point of sale: opens on demand, stays open while sessions exist. */
import {
  type ClaimMessage,
  closeCodes,
  connectorLimits,
  connectorPaths,
  type DeviceStatusMessage,
  type PosAnswer,
  type ReleaseMessage,
  type StatusMessage,
} from '@switchyard/contract';
import {
  backoffDelay,
  type Clock,
  errorText,
  openWebsocket,
  type RandomSource,
  renewBeforeExpiryMs,
  requireSecureUrl,
  restartDelay,
  unlessAborted,
  type WebsocketClose,
  withTimeLimit,
} from '@switchyard/sdk-core';
import type { WebSocket } from 'ws';
import type { AccessTokens } from '../network/access-tokens.ts';
import type { PosTls } from '../network/http-post.ts';
import { heartbeatMs, websocketErrors } from '../network/websocket-options.ts';
import { closedError, createPosError, PosError, timeoutError } from '../support/pos-error.ts';
import { errorFromClose, errorFromMessage, parseAnswer } from './control-messages.ts';

type ControlRequest =
  | Omit<ClaimMessage, 'requestId'>
  | Omit<StatusMessage, 'requestId'>
  | Omit<ReleaseMessage, 'requestId'>;

export type ControlConnection = {
  /** @throws PosError */
  request(request: ControlRequest, waitMs: number, signal?: AbortSignal): Promise<PosAnswer>;
  /**
   * Until the returned function is called, the connection reconnects and requests the terminal's
   * status. It does not reconnect if the platform closed it because the point of sale claimed
   * nothing over it.
   */
  keepOpenFor(tsn: string): () => void;
  isOpen(): boolean;
  close(): void;
};

export type ControlConnectionOptions = {
  readonly baseUrl: string;
  readonly tokens: AccessTokens;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: RandomSource;
  onDeviceStatus(message: DeviceStatusMessage): void;
  onConnectionChange(isOpen: boolean, error?: PosError): void;
};

type PendingRequest = { resolve(answer: PosAnswer): void; reject(error: PosError): void };
const unauthorizedStatus = 401;
const invalidTokenCloseCodes: ReadonlySet<number> = new Set([
  closeCodes.tokenExpired,
  closeCodes.unauthorized,
]);
const minRenewalDelayMs = 1_000;

function websocketUrl(baseUrl: string, path: string): string {
  const url = new URL(requireSecureUrl(baseUrl, 'baseUrl', 'https', createPosError).origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = path;
  return url.href;
}

export function createControlConnection(options: ControlConnectionOptions): ControlConnection {
  const { tokens, tls, timeoutMs, clock, random } = options;
  const url = websocketUrl(options.baseUrl, connectorPaths.posListener);
  const stopController = new AbortController();
  const pendingRequests = new Map<string, PendingRequest>();
  const sessionCounts = new Map<string, number>();
  let socket: WebSocket | undefined;
  let opening: Promise<WebSocket> | undefined;
  let isReconnecting = false;
  let lastId = 0;

  function sendMessage(socket: WebSocket, message: object): void {
    socket.send(JSON.stringify(message), (error) => {
      if (error instanceof Error) socket.terminate();
    });
  }

  /** Releases a claim that has no caller any more; it would reserve the terminal for a minute. */
  function releaseUnwantedClaim(socket: WebSocket, answer: PosAnswer): void {
    if (answer.type !== 'claimed') return;
    lastId += 1;
    sendMessage(socket, {
      type: 'release',
      requestId: String(lastId),
      sessionId: answer.sessionId,
    });
  }

  function handleMessage(socket: WebSocket, text: string): void {
    const answer = parseAnswer(text);
    if (answer === undefined) return;
    const pending =
      answer.requestId === undefined ? undefined : pendingRequests.get(answer.requestId);
    if (pending === undefined) {
      if (answer.type === 'deviceStatus') options.onDeviceStatus(answer);
      else releaseUnwantedClaim(socket, answer);
    } else if (answer.type === 'error') pending.reject(errorFromMessage(answer));
    else pending.resolve(answer);
  }

  function handleClose(closedSocket: WebSocket, token: string, close: WebsocketClose): void {
    if (invalidTokenCloseCodes.has(close.code)) tokens.invalidate(token);
    if (socket !== closedSocket) return;
    socket = undefined;
    const error = errorFromClose(close);
    for (const pending of pendingRequests.values()) pending.reject(error);
    options.onConnectionChange(false, error);
    // The platform closed a connection without claims. It would close a new one again after a
    // minute.
    if (sessionCounts.size === 0 || close.code === closeCodes.timeout) return;
    void reconnect(close.code === closeCodes.restarting);
  }

  /**
   * Sends a new token before the old one expires, because the platform closes the connection at
   * expiry.
   */
  async function renewTokens(
    connection: WebSocket,
    firstToken: { expiresAt: number; token: string },
  ) {
    let current = firstToken;
    for (;;) {
      const remainingMs = current.expiresAt - renewBeforeExpiryMs - clock.now();
      await clock.wait(Math.max(remainingMs, minRenewalDelayMs), stopController.signal);
      if (socket !== connection || stopController.signal.aborted) return;
      tokens.invalidate(current.token);
      try {
        current = await tokens.get();
        const message = { type: 'renewToken' as const, token: current.token };
        await sendRequest(connection, message, timeoutMs);
      } catch {
        // The connection ends with its token. The client reconnects with a new token when it needs
        // to.
        if (clock.now() >= current.expiresAt) return;
      }
    }
  }

  async function connectOnce(): Promise<WebSocket> {
    const token = await tokens.get();
    const websocketOptions = {
      url,
      tls,
      timeoutMs,
      clock,
      signal: stopController.signal,
      heartbeatMs,
      errors: websocketErrors,
      headers: { authorization: `Bearer ${token.token}` },
      maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    };
    let openedSocket: WebSocket | undefined;
    try {
      openedSocket = await openWebsocket(websocketOptions, {
        onMessage: (data) =>
          openedSocket !== undefined && handleMessage(openedSocket, data.toString('utf8')),
        onClose: (end) => openedSocket !== undefined && handleClose(openedSocket, token.token, end),
      });
    } catch (error) {
      if (error instanceof PosError && error.status === unauthorizedStatus) {
        tokens.invalidate(token.token);
      }
      throw error;
    }
    socket = openedSocket;
    options.onConnectionChange(true);
    void renewTokens(openedSocket, token);
    return openedSocket;
  }

  /** Retries once with a new token, because the platform can revoke a token before it expires. */
  async function connect(): Promise<WebSocket> {
    try {
      return await connectOnce();
    } catch (error) {
      if (!(error instanceof PosError) || error.status !== unauthorizedStatus) throw error;
      return connectOnce();
    }
  }

  function ensureConnected(): Promise<WebSocket> {
    if (stopController.signal.aborted) return Promise.reject(closedError());
    if (socket !== undefined) return Promise.resolve(socket);
    opening ??= connect().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  async function sendRequest(
    connection: WebSocket,
    request: ControlRequest | { readonly type: 'renewToken'; readonly token: string },
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<PosAnswer> {
    lastId += 1;
    const requestId = String(lastId);
    const answer = new Promise<PosAnswer>((resolve, reject) => {
      pendingRequests.set(requestId, { resolve, reject });
    });
    try {
      const limits = { clock, signal, createError: createPosError };
      return await withTimeLimit(
        waitMs,
        limits,
        () => {
          sendMessage(connection, { ...request, requestId });
          return answer;
        },
        () => timeoutError('the answer of the connector'),
      );
    } finally {
      pendingRequests.delete(requestId);
    }
  }

  async function reconnect(isRestart: boolean): Promise<void> {
    if (isReconnecting) return;
    isReconnecting = true;
    let delayMs = isRestart ? restartDelay(random) : backoffDelay(0, random);
    for (let attempt = 1; ; attempt += 1) {
      await clock.wait(delayMs, stopController.signal);
      if (stopController.signal.aborted || sessionCounts.size === 0 || socket !== undefined) break;
      try {
        const connection = await ensureConnected();
        for (const tsn of sessionCounts.keys()) void refreshStatus(connection, tsn);
        break;
      } catch (error) {
        const posError = error as PosError;
        options.onConnectionChange(false, posError);
        delayMs = Math.max(posError.retryAfterMs ?? 0, backoffDelay(attempt, random));
      }
    }
    isReconnecting = false;
  }

  /**
   * Requests the status again: the platform sent no status messages while the connection was down.
   */
  async function refreshStatus(connection: WebSocket, tsn: string): Promise<void> {
    try {
      const answer = await sendRequest(connection, { type: 'status', tsn }, timeoutMs);
      if (answer.type === 'deviceStatus') options.onDeviceStatus(answer);
    } catch (error) {
      options.onConnectionChange(socket !== undefined, toPosError(error));
    }
  }

  return {
    async request(request, waitMs, signal) {
      const connection = await unlessAborted(ensureConnected(), signal, createPosError);
      return sendRequest(connection, request, waitMs, signal);
    },
    keepOpenFor(tsn) {
      sessionCounts.set(tsn, (sessionCounts.get(tsn) ?? 0) + 1);
      let isCounted = true;
      return () => {
        const count = sessionCounts.get(tsn) ?? 0;
        if (!isCounted) return;
        isCounted = false;
        if (count > 1) sessionCounts.set(tsn, count - 1);
        else sessionCounts.delete(tsn);
      };
    },
    isOpen: () => socket !== undefined,
    close() {
      stopController.abort();
      sessionCounts.clear();
      for (const pending of pendingRequests.values()) pending.reject(closedError());
      socket?.close(closeCodes.done);
      socket = undefined;
    },
  };
}

const toPosError = (error: unknown): PosError =>
  error instanceof PosError
    ? error
    : new PosError('Transport', errorText(error), { code: 'unreachable', cause: error });
