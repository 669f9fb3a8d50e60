// Pending requests of a host link: sends them over a session, correlates responses, handles time-outs.
import type { CompiledHost, Message } from '@switchyard/iso8583';
import { createMemoryReleasingMap, startResponseTimeout } from '../../platform/index.ts';
import type { ExchangeResult } from '../spi/acquirer-spi.ts';
import type { OutgoingFrame } from './host-connection.ts';
import type { HostSession } from './host-session.ts';

export type SendOptions = {
  timeoutMs: number;
  onPossiblySent?: (() => void) | undefined;
  /** Network management message of one session, such as a sign-on; it never moves to another session. */
  isNetworkMessage: boolean;
};

type PendingRequest = {
  message: Message;
  resolve: (result: ExchangeResult<Message>) => void;
  cancelTimeout: () => void;
  session: HostSession;
  frame: OutgoingFrame;
  /** Sequence number of the sent frame; undefined until bytes may have been sent. */
  sendSequence: number | undefined;
  isNetworkMessage: boolean;
};

const maxPendingRequests = 20_000;
export const notSent = (reason: string) => ({ result: 'NotSent', reason }) as const;
export const notSignedOn = notSent('not signed on');

/**
 * @param correlation assigns responses to requests
 * @param nextSession returns a session for unsent payments, or undefined after close
 */
export function createPendingRequests(
  correlation: CompiledHost['correlation'],
  nextSession: () => HostSession | undefined,
) {
  const pending = createMemoryReleasingMap<PendingRequest>();

  function finishRequest(
    key: string,
    entry: PendingRequest,
    result: ExchangeResult<Message>,
  ): void {
    pending.delete(key);
    entry.cancelTimeout();
    entry.resolve(result);
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
    finishRequest(key, entry, wasQueued ? notSent('not sent in time') : { result: 'Timeout' });
  }

  return {
    send(
      session: HostSession,
      message: Message,
      bytes: Buffer,
      { timeoutMs, onPossiblySent, isNetworkMessage }: SendOptions,
    ): Promise<ExchangeResult<Message>> {
      const key = correlation.keyOf(message);
      if (pending.get(key) !== undefined) return Promise.resolve(notSent('duplicate trace'));
      if (pending.size() >= maxPendingRequests) return Promise.resolve(notSent('busy'));
      return new Promise((resolve) => {
        const onWriteStarted = () => {
          entry.sendSequence = entry.session.recordSent(!isNetworkMessage);
        };
        const entry: PendingRequest = {
          message,
          resolve,
          cancelTimeout: startResponseTimeout(timeoutMs, () => expireRequest(key, entry)),
          session,
          frame: { bytes, onWriteStarted, onWritten: onPossiblySent },
          sendSequence: undefined,
          isNetworkMessage,
        };
        pending.set(key, entry);
        enqueueOn(session, entry);
      });
    },
    findRequest: (response: Message) => pending.get(correlation.keyOf(response))?.message,
    /** Returns false if no request is pending for this response. */
    resolveResponse(response: Message): boolean {
      const key = correlation.keyOf(response);
      const entry = pending.get(key);
      if (entry === undefined) return false;
      if (entry.sendSequence !== undefined) entry.session.recordResponse(entry.sendSequence);
      finishRequest(key, entry, { result: 'Responded', response });
      return true;
    },
    /** Connection lost: the outcome of sent messages is unknown. */
    handleConnectionLost(session: HostSession): void {
      for (const [key, entry] of pending.entries()) {
        if (entry.session !== session) continue;
        if (entry.sendSequence === undefined && !entry.isNetworkMessage)
          moveToOtherSession(key, entry);
        else finishRequest(key, entry, { result: 'ConnectionLost' });
      }
    },
    /** Host sign-off: sent messages may still get a response; queued payments move to another session. */
    handleHostSignOff(session: HostSession): void {
      for (const [key, entry] of pending.entries()) {
        const isPayment = entry.session === session && !entry.isNetworkMessage;
        if (isPayment && session.connection.dequeue(entry.frame)) moveToOtherSession(key, entry);
      }
    },
    hasPendingPayments: () => pending.entries().some(([, entry]) => !entry.isNetworkMessage),
    isIdle: () => pending.size() === 0,
  };
}
