// Pending requests of a host link: sends them over a session, correlates responses, handles time-outs.
import type { Message } from '@switchyard/iso8583';
import { createInFlight, whenOver } from '../../platform/index.ts';
import type { Parcel } from './host-connection.ts';
import type { Exchange, Seat } from './host-session.ts';
import { correlationKey } from './iso8583-messages.ts';

export type Asking = {
  timeoutMs: number;
  onSent?: (() => void) | undefined;
  /** Network management message of one session, such as a sign-on; it never moves to another session. */
  network: boolean;
};

export type Questions = {
  /** Sends the encoded message and waits for the result. */
  ask(seat: Seat, message: Message, bytes: Buffer, how: Asking): Promise<Exchange>;
  /** Returns false if no request is pending for this response. */
  answered(answer: Message): boolean;
  /** Connection lost: the outcome of sent messages is unknown. */
  lost(seat: Seat): void;
  /** Host sign-off: sent messages may still get a response; queued payments move to another session. */
  dismissed(seat: Seat): void;
  paymentsWait(): boolean;
  /** Resolves when no request is pending, at latest after `withinMs`. */
  idle(withinMs: number): Promise<void>;
};

type Waiting = {
  settle: (exchange: Exchange) => void;
  /** Cancels the time-out. */
  inTime: () => void;
  seat: Seat;
  parcel: Parcel;
  /** Sequence number of the sent frame; undefined until bytes may have been sent. */
  left: number | undefined;
  network: boolean;
};

const waitingMax = 20_000;
export const notSignedOn: Exchange = { result: 'NotSent', reason: 'not signed on' };
const notSentInTime: Exchange = { result: 'NotSent', reason: 'not sent in time' };

/**
 * @param deps `freeSeat` returns a session for unsent payments, or undefined after close
 * @example const questions = createQuestions({ freeSeat }); await questions.ask(seat, message, bytes, how);
 */
export function createQuestions({ freeSeat }: { freeSeat(): Seat | undefined }): Questions {
  const waiting = createInFlight<Waiting>();
  let whenIdle: (() => void) | undefined;

  function settle(key: string, entry: Waiting, exchange: Exchange): void {
    waiting.delete(key);
    entry.inTime();
    entry.settle(exchange);
    if (waiting.size() === 0) whenIdle?.();
  }

  function push(seat: Seat, entry: Waiting): void {
    entry.seat = seat;
    seat.connection.push(entry.parcel);
  }

  // An unsent message can move to another session without a duplicate.
  function moveOn(key: string, entry: Waiting): void {
    const other = freeSeat();
    if (other === undefined) settle(key, entry, notSignedOn);
    else push(other, entry);
  }

  // A queued message is removed at its time-out, because the caller already has the result `NotSent`.
  function expire(key: string, entry: Waiting): void {
    const isHere = entry.seat.connection.withdraw(entry.parcel);
    settle(key, entry, isHere ? notSentInTime : { result: 'Timeout' });
  }

  return {
    ask(seat, message, bytes, { timeoutMs, onSent, network }) {
      const key = correlationKey(message);
      if (waiting.get(key) !== undefined)
        return Promise.resolve({ result: 'NotSent', reason: 'duplicate trace' });
      if (waiting.size() >= waitingMax)
        return Promise.resolve({ result: 'NotSent', reason: 'busy' });
      return new Promise((resolve) => {
        const inTime = whenOver(timeoutMs, () => expire(key, entry));
        const leaving = () => {
          entry.left = entry.seat.leaving(!network);
        };
        const parcel: Parcel = { bytes, leaving, sent: onSent };
        const entry: Waiting = { settle: resolve, inTime, seat, parcel, left: undefined, network };
        waiting.set(key, entry);
        push(seat, entry);
      });
    },
    answered(answer) {
      const key = correlationKey(answer);
      const entry = waiting.get(key);
      if (entry === undefined) return false;
      if (entry.left !== undefined) entry.seat.answered(entry.left);
      settle(key, entry, { result: 'Answered', answer });
      return true;
    },
    lost(seat) {
      for (const [key, entry] of waiting.entries()) {
        if (entry.seat !== seat) continue;
        if (entry.left === undefined && !entry.network) moveOn(key, entry);
        else settle(key, entry, { result: 'ConnectionLost' });
      }
    },
    dismissed(seat) {
      for (const [key, entry] of waiting.entries()) {
        const isPayment = entry.seat === seat && !entry.network;
        if (isPayment && seat.connection.withdraw(entry.parcel)) moveOn(key, entry);
      }
    },
    paymentsWait: () => waiting.entries().some(([, { network }]) => !network),
    idle(withinMs) {
      if (waiting.size() === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        whenIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
