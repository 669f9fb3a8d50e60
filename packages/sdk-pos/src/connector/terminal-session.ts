/** A session with one terminal: claim, connect, resume after a break, release. */
import {
  type ClaimedMessage,
  connectorLimits,
  defined,
  type PosAnswer,
} from '@switchyard/contract';
import {
  type Clock,
  openWebsocket,
  requireSecureUrl,
  sendOnWebsocket,
  unlessAborted,
  type WebsocketClose,
} from '@switchyard/sdk-core';
import type { WebSocket } from 'ws';
import type { AccessTokens } from '../network/access-tokens.ts';
import type { PosTls } from '../network/http-post.ts';
import { heartbeatMs, sendOptions, websocketErrors } from '../network/websocket-options.ts';
import { closedError, createPosError, PosError } from '../support/pos-error.ts';
import type { ControlConnection } from './control-connection.ts';
import { errorFromClose } from './control-messages.ts';

/** Codes that mean the session has ended or the terminal has moved: there is nothing to release. */
const endedSessionCodes: ReadonlySet<string> = new Set([
  'session_unknown',
  'device_unknown',
  'wrong_store',
]);

/**
 * How to claim a terminal.
 *
 * @example
 * const wanted: ClaimOptions = { waitSeconds: 10 };
 */
export type ClaimOptions = {
  /** How long the connector waits for a terminal that is offline or in use: 0 to 30; default 0. */
  readonly waitSeconds?: number | undefined;
  /** Ends an existing session of the same point of sale. */
  readonly takeOver?: boolean | undefined;
  /** With `takeOver`: also ends a session with recent traffic. The platform logs it. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * The handlers of a session.
 *
 * @example
 * const handlers: SessionHandlers = { onMessage: (data) => read(data), onConnectionLost: (error) => warn(error.code) };
 */
export type SessionHandlers = {
  /** A text message is a string; a binary message is a Buffer. */
  readonly onMessage: (data: string | Buffer) => void;
  /** The connection broke. `resume` restores the session within half a minute. */
  readonly onConnectionLost: (error: PosError) => void;
};

/**
 * A session with one terminal. Messages arrive unchanged and in order, or the session breaks.
 *
 * @example
 * const session: Session = await client.claim(tsn, { waitSeconds: 10 }, { onMessage, onConnectionLost });
 */
export type Session = {
  readonly tsn: string;
  /** The identifier changes when the session is resumed. */
  readonly sessionId: () => string;
  readonly isOpen: () => boolean;
  /**
   * Resolves when the message is handed to the network. @throws PosError, `NotProcessed` if not
   * sent
   */
  readonly send: (data: string | Uint8Array) => Promise<void>;
  /**
   * Restores the session after a break. Messages that the terminal sent during the break come
   * first. Returns true for the same session, and false if it had ended and a new one was claimed.
   */
  readonly resume: (options?: ClaimOptions) => Promise<boolean>;
  /** Ends the session and frees the terminal. */
  readonly release: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
};

export type SessionOptions = {
  readonly control: ControlConnection;
  readonly tokens: AccessTokens;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly posId: string | undefined;
};

const secondMs = 1000;
const normalClosure = 1000;
const unauthorizedStatus = 401;

function requireClaimed(answer: PosAnswer): ClaimedMessage {
  if (answer.type === 'claimed') return answer;
  throw new PosError('Connector', `the connector answered a claim with ${answer.type}`, {
    code: 'answer_unreadable',
  });
}

/** @throws PosError */
export async function claimSession(
  session: SessionOptions,
  tsn: string,
  options: ClaimOptions,
  handlers: SessionHandlers,
): Promise<Session> {
  const { control, tokens, tls, timeoutMs, clock, posId } = session;
  let claimed: ClaimedMessage | undefined;
  let socket: WebSocket | undefined;
  let resumeToken: string | undefined;
  let resuming: Promise<boolean> | undefined;
  let isReleased = false;
  const stopKeepingOpen = control.keepOpenFor(tsn);

  async function releaseSession(sessionId: string, signal?: AbortSignal): Promise<void> {
    // On another control connection, the terminal and the point of sale identify the session.
    const terminalAndPos = { tsn, ...defined({ posId }) };
    await control.request({ type: 'release', sessionId, ...terminalAndPos }, timeoutMs, signal);
  }

  function handleClose(closedSocket: WebSocket, close: WebsocketClose): void {
    if (socket !== closedSocket) return;
    socket = undefined;
    if (!isReleased) handlers.onConnectionLost(errorFromClose(close));
  }

  /**
   * Gets a token if possible. Not every platform requires one: the session address itself is
   * secret.
   */
  async function tryGetToken(
    signal: AbortSignal | undefined,
  ): Promise<{ token?: string; missing?: unknown }> {
    try {
      return { token: (await unlessAborted(tokens.get(), signal, createPosError)).token };
    } catch (error) {
      if (signal?.aborted === true) throw error;
      return { missing: error };
    }
  }

  async function connectOnce(answer: ClaimedMessage, signal?: AbortSignal): Promise<void> {
    const { token, missing: tokenError } = await tryGetToken(signal);
    const earlyMessages: (string | Buffer)[] = [];
    let openedSocket: WebSocket | undefined;
    const opened = await openWebsocket(
      {
        url: answer.sessionUrl,
        tls,
        timeoutMs,
        clock,
        signal,
        heartbeatMs,
        errors: websocketErrors,
        // A platform may check that the claiming client is the one that uses the address.
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        maxMessageBytes: connectorLimits.messageMaxBytes,
      },
      {
        onMessage(data, isBinary) {
          const message = isBinary ? data : data.toString('utf8');
          if (openedSocket === undefined) earlyMessages.push(message);
          else handlers.onMessage(message);
        },
        onClose: (end) => openedSocket !== undefined && handleClose(openedSocket, end),
      },
    ).catch((error: unknown) => {
      if (!(error instanceof PosError) || error.status !== unauthorizedStatus) throw error;
      // The platform requires a token, so the real fault is the one that prevented the token.
      if (token === undefined) throw tokenError;
      tokens.invalidate(token);
      throw error;
    });
    if (isReleased) {
      opened.close(normalClosure);
      throw closedError();
    }
    openedSocket = opened;
    socket = opened;
    for (const message of earlyMessages) handlers.onMessage(message);
  }

  /** Retries once with a new token after a revocation; the session address is still unused then. */
  async function connect(answer: ClaimedMessage, signal?: AbortSignal): Promise<void> {
    requireSecureUrl(answer.sessionUrl, 'sessionUrl', 'wss', createPosError);
    try {
      await connectOnce(answer, signal);
    } catch (error) {
      if (!(error instanceof PosError) || error.status !== unauthorizedStatus) throw error;
      await connectOnce(answer, signal);
    }
  }

  async function claimAndConnect(claimOptions: ClaimOptions): Promise<boolean> {
    const { waitSeconds = 0, takeOver, force, signal } = claimOptions;
    const answer = requireClaimed(
      await control.request(
        {
          type: 'claim',
          tsn,
          waitSeconds,
          ...defined({ posId, takeOver, force, resumeToken }),
        },
        waitSeconds * secondMs + timeoutMs,
        signal,
      ),
    );
    try {
      // The caller released the session while this claim was pending.
      if (isReleased) throw closedError();
      claimed = answer;
      resumeToken = answer.resumeToken;
      await connect(answer, signal);
    } catch (error) {
      // An unused session address would reserve the terminal for a minute.
      await releaseSession(answer.sessionId).catch(() => control.isOpen());
      throw error;
    }
    return answer.resumed === true;
  }

  async function resume(claimOptions: ClaimOptions = {}): Promise<boolean> {
    if (isReleased) throw closedError();
    if (socket !== undefined) return true;
    resuming ??= claimAndConnect(claimOptions).finally(() => {
      resuming = undefined;
    });
    return unlessAborted(resuming, claimOptions.signal, createPosError);
  }

  async function release({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (isReleased) return;
    isReleased = true;
    stopKeepingOpen();
    const current = socket;
    socket = undefined;
    try {
      if (claimed !== undefined) await releaseSession(claimed.sessionId, signal);
    } catch (error) {
      // The session has already ended, so the release is complete.
      if (!(error instanceof PosError) || !endedSessionCodes.has(error.code)) throw error;
    } finally {
      current?.close(normalClosure);
    }
  }

  try {
    await claimAndConnect(options);
  } catch (error) {
    stopKeepingOpen();
    throw error;
  }
  return {
    tsn,
    sessionId: () => claimed?.sessionId ?? '',
    isOpen: () => socket !== undefined,
    send: (data) => sendOnWebsocket(socket, data, sendOptions),
    resume,
    release,
  };
}
