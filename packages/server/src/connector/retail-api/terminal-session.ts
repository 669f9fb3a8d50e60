// Handles one session with a terminal: sends requests, and finds the answer of each.
import { ProblemError } from '@switchyard/contract';
import { isMessage, type Reading, readMessage } from '@switchyard/nexo';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import type { PosSessionConnection } from '../sessions/session-addresses.ts';
import { headerOf, responseKeyOf } from './read-request.ts';
import { sessionEndProblem } from './retail-problems.ts';

/** An answer as received, and the result of its parsing. */
export type TerminalAnswer = { readonly text: string; readonly reading: Reading };

export type TerminalSession = {
  isOpen(): boolean;
  /** Returns false if the session has ended. */
  send(text: string): boolean;
  /** @throws ProblemError, usually because the outcome at the terminal is unknown */
  request(key: string, text: string, waitMs: number): Promise<TerminalAnswer>;
  /** Releases the terminal. */
  end(reason: 'done' | 'restarting'): void;
};

type PendingAnswer = { answer(answer: TerminalAnswer): void; fail(error: ProblemError): void };

/** The server ends the session of a terminal that sends more other messages than this. */
const otherMessagesMax = 2000;

/** Returns the key of the request in a Reject event, or true if the request is not readable. */
function rejectedKey(message: Reading): string | true | undefined {
  if (message.kind !== 'Message' || !isMessage(message.message, 'Event', 'Notification')) return;
  const { EventToNotify, RejectedMessage } = message.message.body;
  if (EventToNotify !== 'Reject') return undefined;
  if (RejectedMessage === undefined) return true;
  const read = readMessage(Buffer.from(RejectedMessage, 'base64'));
  const header = headerOf(read);
  return header === undefined ? true : responseKeyOf(header);
}

/** @example const session = await openTerminalSession((end) => connector.joinSession(sessionId, end)); */
export async function openTerminalSession(
  join: (
    end: MessageEndpoint,
  ) => PosSessionConnection | undefined | Promise<PosSessionConnection | undefined>,
): Promise<TerminalSession | undefined> {
  const pendingAnswers = new Map<string, PendingAnswer>();
  let endProblem: ProblemError | undefined;
  let connection: PosSessionConnection | undefined;
  let otherMessages = 0;

  function finish(error: ProblemError): void {
    endProblem ??= error;
    for (const { fail } of [...pendingAnswers.values()]) fail(error);
  }

  function reject(key: string | true): void {
    const [single] = pendingAnswers.size === 1 ? [...pendingAnswers.values()] : [];
    const pending = key === true ? single : pendingAnswers.get(key);
    pending?.fail(new ProblemError('message_rejected', 'The terminal rejected the message.'));
  }

  function receive(data: Buffer | string): void {
    const text = data.toString();
    const reading = readMessage(text);
    const header = headerOf(reading);
    const pending =
      header?.MessageType === 'Response' ? pendingAnswers.get(responseKeyOf(header)) : undefined;
    if (pending !== undefined) {
      pending.answer({ text, reading });
      return;
    }
    const rejected = rejectedKey(reading);
    if (rejected !== undefined) reject(rejected);
    otherMessages += 1;
    if (otherMessages <= otherMessagesMax) return;
    connection?.disconnected(true);
    finish(sessionEndProblem('rate_limited'));
  }

  connection = await join({
    send(data, _isBinary, sent) {
      receive(data);
      sent?.();
    },
    buffered: () => 0,
    pause() {},
    resume() {},
    close: (_code, reason) => finish(sessionEndProblem(reason)),
  });
  if (connection === undefined) return undefined;
  const posConnection = connection;

  const session: TerminalSession = {
    isOpen: () => endProblem === undefined,
    send(text) {
      if (endProblem !== undefined) return false;
      posConnection.receive(Buffer.from(text), false);
      return true;
    },
    request: (key, text, waitMs) =>
      new Promise<TerminalAnswer>((resolve, reject) => {
        if (pendingAnswers.has(key)) {
          // Only a device message, such as display text, can repeat here: the store rejects a
          // repeated service.
          const outcome = 'NotProcessed';
          reject(
            new ProblemError(
              'service_id_reused',
              'The same message was sent and has no response yet. Wait for its response.',
              { outcome },
            ),
          );
          return;
        }
        const removePending = () => {
          clearTimeout(timer);
          pendingAnswers.delete(key);
        };
        const fail = (error: ProblemError) => {
          removePending();
          reject(error);
        };
        const failLate = () =>
          fail(new ProblemError('timeout', 'The terminal did not answer in time.'));
        const timer = setTimeout(failLate, waitMs);
        pendingAnswers.set(key, {
          answer(answer) {
            removePending();
            resolve(answer);
          },
          fail,
        });
        if (!session.send(text)) fail(endProblem ?? sessionEndProblem('device_disconnected'));
      }),
    end(reason) {
      if (endProblem !== undefined) return;
      finish(reason === 'done' ? sessionEndProblem('released') : restartingProblem());
      posConnection.disconnected(true);
    },
  };
  return session;
}

const restartingProblem = () =>
  new ProblemError('session_lost', 'The server restarts, and the terminal has not answered.', {
    extensions: { reason: 'restarting' },
  });
