/** Reads a stream of server-sent events. After a break it reconnects and continues after the last event. */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { Query } from '../http/api-client.ts';
import { membersOf } from '../http/problem-details.ts';
import { parseServerSentEvents, type ServerSentEvent } from '../http/server-sent-events.ts';
import { CommandError } from '../runtime/command-error.ts';
import type { CommandContext } from './command-runner.ts';

export type FollowedEvent = { readonly id: string; readonly type: string; readonly data: string };

export type FollowOptions = {
  readonly query?: Query;
  /** The id of the last event that was received; the stream begins after it. */
  readonly after?: string | undefined;
  /** Called once, when the server has accepted the first request: no later event is missed. */
  readonly onOpen?: () => void;
};

const retryMs = 1000;
const retryMaxMs = 30_000;
/** The server sends a line at least every 20 seconds. */
const idleTimeoutMs = 60_000;
/** The server ends a stream for these reasons without an error; the client reconnects at once. */
const expectedEndReasons = ['token_expired', 'shutting_down', 'slow_reader'];

const endReason = ({ data = '' }: ServerSentEvent): string => {
  try {
    return String(membersOf(JSON.parse(data))['reason'] ?? 'unknown');
  } catch {
    return 'unknown';
  }
};

/** Whether a later attempt can succeed without a change by the user. */
function isTemporary(error: unknown): boolean {
  if (error instanceof CommandError) return ['unreachable', 'fault'].includes(error.exit);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
}

type StreamPosition = { id: string | undefined; retryMs: number; failures: number };

/** The events of one connection. Returns the reason why it ended. */
async function* readConnection(
  { api, environment }: CommandContext,
  path: string,
  { query = {}, onOpen }: FollowOptions,
  position: StreamPosition,
): AsyncGenerator<FollowedEvent, string> {
  const lastEventId = defined({ 'last-event-id': position.id });
  const { status, stream } = await api().open(path, {
    query,
    idleTimeoutMs,
    headers: { accept: 'text/event-stream', ...lastEventId },
  });
  onOpen?.();
  if (status === 204) return 'completed';
  const { stopping } = environment;
  const stop = () => stream.destroy();
  stopping.addEventListener('abort', stop, { once: true });
  try {
    stream.setEncoding('utf8');
    for await (const event of parseServerSentEvents(stream as AsyncIterable<string>)) {
      if (event.retryMs !== undefined) position.retryMs = Math.min(event.retryMs, retryMaxMs);
      if (event.type === 'end') return endReason(event);
      if (event.id !== undefined) position.id = event.id;
      if (event.data === undefined) continue;
      position.failures = 0;
      yield { id: position.id ?? '', type: event.type, data: event.data };
    }
    return 'cut';
  } finally {
    stopping.removeEventListener('abort', stop);
    stream.destroy();
  }
}

/**
 * Ends after Ctrl+C. A first connection that fails is an error; later failures are retried if they are
 * temporary.
 *
 * @example for await (const { data } of followEventStream(context, '/events/v1')) show(JSON.parse(data));
 */
export async function* followEventStream(
  context: CommandContext,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<FollowedEvent> {
  const { stopping } = context.environment;
  const position: StreamPosition = { id: options.after, retryMs, failures: 0 };
  let isOpened = false;
  const onOpen = () => {
    if (position.failures > 1) context.output.printNote('Connected again.');
    if (!isOpened) options.onOpen?.();
    isOpened = true;
  };
  while (!stopping.aborted) {
    let reason: string;
    try {
      reason = yield* readConnection(context, path, { ...options, onOpen }, position);
      if (reason === 'completed') return;
    } catch (error) {
      if (stopping.aborted) return;
      if (!isOpened || !isTemporary(error)) throw error;
      reason = (error as Error).message;
    }
    if (stopping.aborted) return;
    position.failures = expectedEndReasons.includes(reason) ? 1 : position.failures + 1;
    if (position.failures === 2)
      context.output.printNote(`The stream broke off (${reason}); trying again.`);
    const waitMs = Math.min(position.retryMs * 2 ** Math.min(position.failures - 1, 5), retryMaxMs);
    const halfMs = Math.floor(waitMs / 2);
    await pause(halfMs + randomInt(halfMs + 1), undefined, { signal: stopping }).catch(
      () => undefined,
    );
  }
}
