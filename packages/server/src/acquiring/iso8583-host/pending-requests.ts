// The questions that wait for answers: sent over a seat, moved to another one, answered, or given up.
import type { Message } from '@switchyard/iso8583';
import { createInFlight, whenOver } from '../../platform/index.ts';
import type { Parcel } from './host-connection.ts';
import type { Exchange, Seat } from './host-session.ts';
import { correlationKey } from './iso8583-messages.ts';

export type Asking = {
  timeoutMs: number;
  onSent?: (() => void) | undefined;
  /** Of this connection alone, such as a sign-on. */
  network: boolean;
};

export type Questions = {
  /** Sends a message, as these bytes, and waits for what becomes of it. */
  ask(seat: Seat, message: Message, bytes: Buffer, how: Asking): Promise<Exchange>;
  /** False where nobody waits for this answer any more. */
  answered(answer: Message): boolean;
  /** The connection is gone, and of what has left over it nobody knows. */
  lost(seat: Seat): void;
  /** The host has signed off: what is in flight may still be answered, and nothing follows it. */
  dismissed(seat: Seat): void;
  paymentsWait(): boolean;
  /** Once nothing waits, and not later than that. */
  idle(withinMs: number): Promise<void>;
};

type Waiting = {
  settle: (exchange: Exchange) => void;
  /** Ends the wait for its time to pass. */
  inTime: () => void;
  seat: Seat;
  parcel: Parcel;
  /** Its place among what has left over its connection; bytes of it may be with the host then. */
  left: number | undefined;
  network: boolean;
};

const waitingMax = 20_000;
export const notSignedOn: Exchange = { result: 'NotSent', reason: 'not signed on' };
const notSentInTime: Exchange = { result: 'NotSent', reason: 'not sent in time' };

/**
 * @param deps where payments may go that have not left; nowhere once the link is closed
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

  // What had not left yet is safe to send elsewhere.
  function moveOn(key: string, entry: Waiting): void {
    const other = freeSeat();
    if (other === undefined) settle(key, entry, notSignedOn);
    else push(other, entry);
  }

  // What waits here when its time is over must not go out behind the back of whoever was told so.
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
