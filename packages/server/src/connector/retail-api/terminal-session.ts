// Handles one session with a terminal: sends requests, and finds the answer of each.
import { ProblemError } from '@switchyard/contract';
import { isMessage, type Reading, readMessage } from '@switchyard/nexo';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import type { PosSessionConnection } from '../sessions/session-addresses.ts';
import { headerOf, keyOf } from './read-request.ts';
import { refusalOfEnd } from './retail-problems.ts';

/** An answer as received, and the result of its parsing. */
export type Answer = { readonly text: string; readonly reading: Reading };

export type Line = {
  isOpen(): boolean;
  /** Returns false if the session has ended. */
  send(text: string): boolean;
  /** @throws Refusal, usually because the outcome at the terminal is unknown */
  ask(key: string, text: string, waitMs: number): Promise<Answer>;
  /** Releases the terminal. */
  end(word: 'done' | 'restarting'): void;
};

type Waiting = { answer(answer: Answer): void; fail(error: ProblemError): void };

/** The server ends the session of a terminal that sends more other messages than this. */
const besideMax = 2000;

/** Returns the key of the request in a Reject event, or true if the request is not readable. */
function rejectedKey(message: Reading): string | true | undefined {
  if (message.kind !== 'Message' || !isMessage(message.message, 'Event', 'Notification')) return;
  const { EventToNotify, RejectedMessage } = message.message.body;
  if (EventToNotify !== 'Reject') return undefined;
  if (RejectedMessage === undefined) return true;
  const read = readMessage(Buffer.from(RejectedMessage, 'base64'));
  const header = headerOf(read);
  return header === undefined ? true : keyOf(header);
}

/** @example const line = await openLine((end) => relay.join(sessionId, end)); */
export async function openLine(
  join: (
    end: MessageEndpoint,
  ) => PosSessionConnection | undefined | Promise<PosSessionConnection | undefined>,
): Promise<Line | undefined> {
  const waiting = new Map<string, Waiting>();
  let ended: ProblemError | undefined;
  let joined: PosSessionConnection | undefined;
  let beside = 0;

  function finish(error: ProblemError): void {
    ended ??= error;
    for (const { fail } of [...waiting.values()]) fail(error);
  }

  function reject(key: string | true): void {
    const [only] = waiting.size === 1 ? [...waiting.values()] : [];
    const meant = key === true ? only : waiting.get(key);
    meant?.fail(new ProblemError('message_rejected', 'The terminal told that it did not take it.'));
  }

  function hear(data: Buffer | string): void {
    const text = data.toString();
    const reading = readMessage(text);
    const header = headerOf(reading);
    const meant = header?.MessageType === 'Response' ? waiting.get(keyOf(header)) : undefined;
    if (meant !== undefined) {
      meant.answer({ text, reading });
      return;
    }
    const rejected = rejectedKey(reading);
    if (rejected !== undefined) reject(rejected);
    beside += 1;
    if (beside <= besideMax) return;
    joined?.disconnected(true);
    finish(refusalOfEnd('rate_limited'));
  }

  joined = await join({
    send(data, _isBinary, sent) {
      hear(data);
      sent?.();
    },
    buffered: () => 0,
    pause() {},
    resume() {},
    close: (_code, word) => finish(refusalOfEnd(word)),
  });
  if (joined === undefined) return undefined;
  const { receive: heard, disconnected: lost } = joined;

  const line: Line = {
    isOpen: () => ended === undefined,
    send(text) {
      if (ended !== undefined) return false;
      heard(Buffer.from(text), false);
      return true;
    },
    ask: (key, text, waitMs) =>
      new Promise<Answer>((resolve, reject) => {
        if (waiting.has(key)) {
          // Only a device message, such as display text, can repeat here: the store rejects a
          // repeated service.
          const outcome = 'NotProcessed';
          reject(new ProblemError('service_id_reused', 'The same message waits.', { outcome }));
          return;
        }
        const over = () => {
          clearTimeout(timer);
          waiting.delete(key);
        };
        const fail = (error: ProblemError) => {
          over();
          reject(error);
        };
        const late = () =>
          fail(new ProblemError('timeout', 'The terminal did not answer in time.'));
        const timer = setTimeout(late, waitMs);
        waiting.set(key, {
          answer(answer) {
            over();
            resolve(answer);
          },
          fail,
        });
        if (!line.send(text)) fail(ended ?? refusalOfEnd('device_disconnected'));
      }),
    end(word) {
      if (ended !== undefined) return;
      finish(word === 'done' ? refusalOfEnd('released') : stopping());
      lost(true);
    },
  };
  return line;
}

const stopping = () =>
  new ProblemError('session_lost', 'The service restarts, and the terminal has not answered.', {
    extensions: { reason: 'restarting' },
  });
