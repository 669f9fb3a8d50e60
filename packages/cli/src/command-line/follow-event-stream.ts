/** Follows a stream of events over breaks: it comes back behind the last one, with a fresh token where needed. */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { Query } from '../http/api-client.ts';
import { membersOf } from '../http/problem-details.ts';
import { type Block, blocksOf } from '../http/server-sent-events.ts';
import { CommandFault } from '../runtime/command-error.ts';
import type { Kit } from './command-runner.ts';

export type Followed = { readonly id: string; readonly type: string; readonly data: string };

export type FollowOptions = {
  readonly query?: Query;
  /** The last event that is known already. */
  readonly after?: string | undefined;
  /** Once, when the server has taken the request: from here on nothing is missed. */
  readonly onOpen?: () => void;
};

const retryMs = 1000;
const retryMostMs = 30_000;
/** The server says something every twenty seconds at the latest. */
const silenceMs = 60_000;
/** Ends that mean: come back at once, and nothing was wrong. */
const harmless = ['token_expired', 'shutting_down', 'slow_reader'];

const endOf = ({ data = '' }: Block): string => {
  try {
    return String(membersOf(JSON.parse(data))['reason'] ?? 'unknown');
  } catch {
    return 'unknown';
  }
};

/** What may be better after a while; everything else a person has to see to. */
function isPassing(error: unknown): boolean {
  if (error instanceof CommandFault) return ['unreachable', 'fault'].includes(error.exit);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
}

type Place = { id: string | undefined; retryMs: number; failures: number };

/** One connection, and why it ended. */
async function* connection(
  { api, world }: Kit,
  path: string,
  { query = {}, onOpen }: FollowOptions,
  place: Place,
): AsyncGenerator<Followed, string> {
  const lastEventId = defined({ 'last-event-id': place.id });
  const { status, stream } = await api().open(path, {
    query,
    silenceMs,
    headers: { accept: 'text/event-stream', ...lastEventId },
  });
  onOpen?.();
  if (status === 204) return 'completed';
  const { stopping } = world;
  const stop = () => stream.destroy();
  stopping.addEventListener('abort', stop, { once: true });
  try {
    stream.setEncoding('utf8');
    for await (const block of blocksOf(stream as AsyncIterable<string>)) {
      if (block.retryMs !== undefined) place.retryMs = Math.min(block.retryMs, retryMostMs);
      if (block.type === 'end') return endOf(block);
      if (block.id !== undefined) place.id = block.id;
      if (block.data === undefined) continue;
      place.failures = 0;
      yield { id: place.id ?? '', type: block.type, data: block.data };
    }
    return 'cut';
  } finally {
    stopping.removeEventListener('abort', stop);
    stream.destroy();
  }
}

/**
 * Ends when it is told to stop. A first connection that fails is a fault; after it only what passes by
 * itself is waited for.
 *
 * @example for await (const { data } of follow(kit, '/events/v1')) show(JSON.parse(data));
 */
export async function* follow(
  kit: Kit,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<Followed> {
  const { stopping } = kit.world;
  const place: Place = { id: options.after, retryMs, failures: 0 };
  let isKnown = false;
  const onOpen = () => {
    if (place.failures > 1) kit.screen.note('Connected again.');
    if (!isKnown) options.onOpen?.();
    isKnown = true;
  };
  while (!stopping.aborted) {
    let why: string;
    try {
      why = yield* connection(kit, path, { ...options, onOpen }, place);
      if (why === 'completed') return;
    } catch (error) {
      if (stopping.aborted) return;
      if (!isKnown || !isPassing(error)) throw error;
      why = (error as Error).message;
    }
    if (stopping.aborted) return;
    place.failures = harmless.includes(why) ? 1 : place.failures + 1;
    if (place.failures === 2) kit.screen.note(`The stream broke off (${why}); trying again.`);
    const waitMs = Math.min(place.retryMs * 2 ** Math.min(place.failures - 1, 5), retryMostMs);
    const some = Math.floor(waitMs / 2);
    await pause(some + randomInt(some + 1), undefined, { signal: stopping }).catch(() => undefined);
  }
}
