// Pending requests of a host link: sends them over a session, correlates responses, handles time-outs.
import type { Message } from '@switchyard/iso8583';
import { createInFlight, whenOver } from '../../platform/index.ts';
import type { OutgoingFrame } from './host-connection.ts';
import type { ExchangeResult, HostSession } from './host-session.ts';
import { correlationKey } from './iso8583-messages.ts';

export type SendOptions = {
  timeoutMs: number;
  onPossiblySent?: (() => void) | undefined;
  /** Network management message of one session, such as a sign-on; it never moves to another session. */
  isNetworkMessage: boolean;
};

export type PendingRequests = {
  /** Sends the encoded message and waits for the result. */
  send(
    seat: HostSession,
    message: Message,
    bytes: Buffer,
    options: SendOptions,
  ): Promise<ExchangeResult>;
  /** Returns false if no request is pending for this response. */
  resolveResponse(response: Message): boolean;
  /** Connection lost: the outcome of sent messages is unknown. */
  handleConnectionLost(seat: HostSession): void;
  /** Host sign-off: sent messages may still get a response; queued payments move to another session. */
  handleHostSignOff(seat: HostSession): void;
  hasPendingPayments(): boolean;
  /** Resolves when no request is pending, at latest after `withinMs`. */
  waitUntilIdle(withinMs: number): Promise<void>;
};

type PendingRequest = {
  resolve: (exchangeResult: ExchangeResult) => void;
  /** Cancels the time-out. */
  cancelTimeout: () => void;
  session: HostSession;
  frame: OutgoingFrame;
  /** Sequence number of the sent frame; undefined until bytes may have been sent. */
  sendSequence: number | undefined;
  isNetworkMessage: boolean;
};

const maxPendingRequests = 20_000;
export const notSignedOn: ExchangeResult = { result: 'NotSent', reason: 'not signed on' };
const notSentBeforeTimeout: ExchangeResult = { result: 'NotSent', reason: 'not sent in time' };

/**
 * @param deps `freeSeat` returns a session for unsent payments, or undefined after close
 * @example const questions = createQuestions({ freeSeat }); await questions.ask(seat, message, bytes, how);
 */
export function createPendingRequests({
  freeSeat: nextSession,
}: {
  freeSeat(): HostSession | undefined;
}): PendingRequests {
  const pending = createInFlight<PendingRequest>();
  let onIdle: (() => void) | undefined;

  function finishRequest(key: string, entry: PendingRequest, exchangeResult: ExchangeResult): void {
    pending.delete(key);
    entry.cancelTimeout();
    entry.resolve(exchangeResult);
    if (pending.size() === 0) onIdle?.();
  }

  function enqueueOn(session: HostSession, entry: PendingRequest): void {
    entry.session = session;
    session.connection.enqueue(entry.frame);
  }

  // An unsent message can move to another session without a duplicate.
  function moveToOtherSession(key: string, entry: PendingRequest): void {
    const otherSession = nextSession();
    if (otherSession === undefined) finishRequest(key, entry, notSignedOn);
    else enqueueOn(otherSession, entry);
  }

  // A queued message is removed at its time-out, because the caller already has the result `NotSent`.
  function expireRequest(key: string, entry: PendingRequest): void {
    const wasQueued = entry.session.connection.dequeue(entry.frame);
    finishRequest(key, entry, wasQueued ? notSentBeforeTimeout : { result: 'Timeout' });
  }

  return {
    send(seat, message, bytes, { timeoutMs, onPossiblySent: onSent, isNetworkMessage: network }) {
      const key = correlationKey(message);
      if (pending.get(key) !== undefined)
        return Promise.resolve({ result: 'NotSent', reason: 'duplicate trace' });
      if (pending.size() >= maxPendingRequests)
        return Promise.resolve({ result: 'NotSent', reason: 'busy' });
      return new Promise((resolve) => {
        const cancelTimeout = whenOver(timeoutMs, () => expireRequest(key, entry));
        const onWriteStarted = () => {
          entry.sendSequence = entry.session.recordSent(!network);
        };
        const frame: OutgoingFrame = { bytes, onWriteStarted, onWritten: onSent };
        const entry: PendingRequest = {
          resolve,
          cancelTimeout,
          session: seat,
          frame,
          sendSequence: undefined,
          isNetworkMessage: network,
        };
        pending.set(key, entry);
        enqueueOn(seat, entry);
      });
    },
    resolveResponse(response) {
      const key = correlationKey(response);
      const entry = pending.get(key);
      if (entry === undefined) return false;
      if (entry.sendSequence !== undefined) entry.session.recordResponse(entry.sendSequence);
      finishRequest(key, entry, { result: 'Responded', response });
      return true;
    },
    handleConnectionLost(seat) {
      for (const [key, entry] of pending.entries()) {
        if (entry.session !== seat) continue;
        if (entry.sendSequence === undefined && !entry.isNetworkMessage)
          moveToOtherSession(key, entry);
        else finishRequest(key, entry, { result: 'ConnectionLost' });
      }
    },
    handleHostSignOff(seat) {
      for (const [key, entry] of pending.entries()) {
        const isPayment = entry.session === seat && !entry.isNetworkMessage;
        if (isPayment && seat.connection.dequeue(entry.frame)) moveToOtherSession(key, entry);
      }
    },
    hasPendingPayments: () =>
      pending.entries().some(([, { isNetworkMessage: network }]) => !network),
    waitUntilIdle(withinMs) {
      if (pending.size() === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
