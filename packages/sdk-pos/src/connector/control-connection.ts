/** The control connection of a point of sale: opened on demand, kept while sessions are held. */
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
import type { WebSocket } from 'ws';
import { earlyMs, type Tokens } from '../network/access-tokens.ts';
import type { PosTls } from '../network/http-post.ts';
import { socketUrl } from '../network/secure-url.ts';
import { openSocket } from '../network/websocket.ts';
import type { SocketEnd } from '../network/websocket-close.ts';
import { pauseAfter, pauseAfterRestart } from '../support/backoff.ts';
import { type Chance, type Clock, unlessAborted, within } from '../support/clock.ts';
import { closed, late, PosError, textOf } from '../support/pos-error.ts';
import { errorOf, errorOfEnd, readAnswer } from './control-messages.ts';

type Question =
  | Omit<ClaimMessage, 'requestId'>
  | Omit<StatusMessage, 'requestId'>
  | Omit<ReleaseMessage, 'requestId'>;

export type Control = {
  /** @throws PosError */
  ask(question: Question, waitMs: number, signal?: AbortSignal): Promise<PosAnswer>;
  /**
   * While a terminal is held, the connection reconnects by itself and requests the terminal's
   * status. It does not reconnect if the platform closed it because the point of sale claimed
   * nothing over it.
   */
  hold(tsn: string): () => void;
  isOpen(): boolean;
  close(): void;
};

export type ControlDeps = {
  readonly baseUrl: string;
  readonly tokens: Tokens;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly chance: Chance;
  onDeviceStatus(message: DeviceStatusMessage): void;
  onState(isOpen: boolean, error?: PosError): void;
};

type Waiting = { resolve(answer: PosAnswer): void; reject(error: PosError): void };
const unauthorizedStatus = 401;
const refusedTokens: ReadonlySet<number> = new Set([
  closeCodes.tokenExpired,
  closeCodes.unauthorized,
]);
const leastRenewalMs = 1_000;

export function createControl(deps: ControlDeps): Control {
  const { tokens, tls, timeoutMs, clock, chance } = deps;
  const url = socketUrl(deps.baseUrl, connectorPaths.posListener);
  const over = new AbortController();
  const waiting = new Map<string, Waiting>();
  const held = new Map<string, number>();
  let socket: WebSocket | undefined;
  let opening: Promise<WebSocket> | undefined;
  let isComingBack = false;
  let lastId = 0;

  function say(to: WebSocket, message: object): void {
    to.send(JSON.stringify(message), (error) => {
      if (error instanceof Error) to.terminate();
    });
  }

  /** Releases a claim that has no caller any more; it would reserve the terminal for a minute. */
  function giveBack(from: WebSocket, answer: PosAnswer): void {
    if (answer.type !== 'claimed') return;
    lastId += 1;
    say(from, { type: 'release', requestId: String(lastId), sessionId: answer.sessionId });
  }

  function hear(from: WebSocket, text: string): void {
    const answer = readAnswer(text);
    if (answer === undefined) return;
    const one = answer.requestId === undefined ? undefined : waiting.get(answer.requestId);
    if (one === undefined) {
      if (answer.type === 'deviceStatus') deps.onDeviceStatus(answer);
      else giveBack(from, answer);
    } else if (answer.type === 'error') one.reject(errorOf(answer));
    else one.resolve(answer);
  }

  function ended(which: WebSocket, token: string, end: SocketEnd): void {
    if (refusedTokens.has(end.code)) tokens.forget(token);
    if (socket !== which) return;
    socket = undefined;
    const error = errorOfEnd(end);
    for (const one of waiting.values()) one.reject(error);
    deps.onState(false, error);
    // The platform closed a connection without claims. It would close a new one again after a
    // minute.
    if (held.size === 0 || end.code === closeCodes.timeout) return;
    void comeBack(end.code === closeCodes.restarting);
  }

  /**
   * Sends a new token before the old one expires, because the platform closes the connection at
   * expiry.
   */
  async function renew(which: WebSocket, first: { expiresAt: number; token: string }) {
    let current = first;
    for (;;) {
      const leftMs = current.expiresAt - earlyMs - clock.now();
      await clock.wait(Math.max(leftMs, leastRenewalMs), over.signal);
      if (socket !== which || over.signal.aborted) return;
      tokens.forget(current.token);
      try {
        current = await tokens.get();
        const message = { type: 'renewToken' as const, token: current.token };
        await exchange(which, message, timeoutMs);
      } catch {
        // The connection ends with its token. The client reconnects with a new token when it needs
        // to.
        if (clock.now() >= current.expiresAt) return;
      }
    }
  }

  async function connectOnce(): Promise<WebSocket> {
    const token = await tokens.get();
    const target = {
      url,
      tls,
      timeoutMs,
      clock,
      signal: over.signal,
      headers: { authorization: `Bearer ${token.token}` },
      maxMessageBytes: connectorLimits.controlMessageMaxBytes,
    };
    let made: WebSocket | undefined;
    try {
      made = await openSocket(target, {
        message: (data) => made !== undefined && hear(made, data.toString('utf8')),
        closed: (end) => made !== undefined && ended(made, token.token, end),
      });
    } catch (error) {
      if (error instanceof PosError && error.status === unauthorizedStatus) {
        tokens.forget(token.token);
      }
      throw error;
    }
    socket = made;
    deps.onState(true);
    void renew(made, token);
    return made;
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

  function connected(): Promise<WebSocket> {
    if (over.signal.aborted) return Promise.reject(closed());
    if (socket !== undefined) return Promise.resolve(socket);
    opening ??= connect().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  async function exchange(
    through: WebSocket,
    question: Question | { readonly type: 'renewToken'; readonly token: string },
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<PosAnswer> {
    lastId += 1;
    const requestId = String(lastId);
    const answered = new Promise<PosAnswer>((resolve, reject) => {
      waiting.set(requestId, { resolve, reject });
    });
    try {
      const limits = { clock, signal };
      return await within(
        waitMs,
        limits,
        () => {
          say(through, { ...question, requestId });
          return answered;
        },
        () => late('the answer of the connector'),
      );
    } finally {
      waiting.delete(requestId);
    }
  }

  async function comeBack(isRestart: boolean): Promise<void> {
    if (isComingBack) return;
    isComingBack = true;
    let pauseMs = isRestart ? pauseAfterRestart(chance) : pauseAfter(0, chance);
    for (let attempt = 1; ; attempt += 1) {
      await clock.wait(pauseMs, over.signal);
      if (over.signal.aborted || held.size === 0 || socket !== undefined) break;
      try {
        const made = await connected();
        for (const tsn of held.keys()) void lookAgain(made, tsn);
        break;
      } catch (error) {
        const fault = error as PosError;
        deps.onState(false, fault);
        pauseMs = Math.max(fault.retryAfterMs ?? 0, pauseAfter(attempt, chance));
      }
    }
    isComingBack = false;
  }

  /**
   * Requests the status again: the platform sent no status messages while the connection was down.
   */
  async function lookAgain(through: WebSocket, tsn: string): Promise<void> {
    try {
      const answer = await exchange(through, { type: 'status', tsn }, timeoutMs);
      if (answer.type === 'deviceStatus') deps.onDeviceStatus(answer);
    } catch (error) {
      deps.onState(socket !== undefined, asPosError(error));
    }
  }

  return {
    async ask(question, waitMs, signal) {
      const through = await unlessAborted(connected(), signal);
      return exchange(through, question, waitMs, signal);
    },
    hold(tsn) {
      held.set(tsn, (held.get(tsn) ?? 0) + 1);
      let isHeld = true;
      return () => {
        const count = held.get(tsn) ?? 0;
        if (!isHeld) return;
        isHeld = false;
        if (count > 1) held.set(tsn, count - 1);
        else held.delete(tsn);
      };
    },
    isOpen: () => socket !== undefined,
    close() {
      over.abort();
      held.clear();
      for (const one of waiting.values()) one.reject(closed());
      socket?.close(closeCodes.done);
      socket = undefined;
    },
  };
}

const asPosError = (error: unknown): PosError =>
  error instanceof PosError
    ? error
    : new PosError('Transport', textOf(error), { code: 'unreachable', cause: error });
