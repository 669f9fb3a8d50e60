/** Stores events until the platform has acknowledged them: in memory or in a file. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { ProviderEvent } from '@switchyard/contract';
import type { Awaitable } from './qr-provider.ts';

/**
 * A waiting event.
 *
 * @example
 * const waiting: WaitingEvent = { eventsUrl, event, attempts: 0, firstAt: now, dueAt: now };
 */
export type WaitingEvent = {
  readonly eventsUrl: string;
  readonly event: ProviderEvent;
  /** The number of failed attempts. */
  readonly attempts: number;
  /** When the event was added, milliseconds since 1970. */
  readonly firstAt: number;
  /** When the next attempt is due. */
  readonly dueAt: number;
};

/**
 * Keeps events across restarts. For example, use a table of your database and write it in the
 * transaction that changes the payment. Only one process at a time may use a store.
 *
 * @example
 * const store: EventStore = {
 *   load: () => sql`SELECT * FROM waiting_events ORDER BY first_at`,
 *   save: (waiting) => sql`INSERT INTO waiting_events … ON CONFLICT (event_id) DO UPDATE …`,
 *   remove: (eventId) => sql`DELETE FROM waiting_events WHERE event_id = ${eventId}`,
 * };
 */
export type EventStore = {
  /** All waiting events, the oldest first. */
  load(): Awaitable<readonly WaitingEvent[]>;
  /**
   * Saves a new event, or a new time of its next attempt. The data is durable when the call
   * returns.
   */
  save(waiting: WaitingEvent): Awaitable<void>;
  remove(eventId: string): Awaitable<void>;
};

/**
 * Makes a store that keeps events in memory only, for tests.
 *
 * @example
 * const queue = createEventQueue({ client, store: memoryEventStore() });
 */
export function memoryEventStore(): EventStore {
  const waiting = new Map<string, WaitingEvent>();
  return {
    load: () => [...waiting.values()],
    save(one) {
      waiting.set(one.event.eventId, one);
    },
    remove(eventId) {
      waiting.delete(eventId);
    },
  };
}

const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const newLinesMax = 20_000;

/** A rename is durable only after its directory is synced. Windows cannot open directories. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

type Line = { readonly put: WaitingEvent } | { readonly done: string };

/** An incomplete last line was never confirmed to a caller. */
function readLines(path: string): Map<string, WaitingEvent> {
  const waiting = new Map<string, WaitingEvent>();
  if (!existsSync(path)) return waiting;
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const line = JSON.parse(text) as Line;
    if ('put' in line) waiting.set(line.put.event.eventId, line.put);
    else waiting.delete(line.done);
  }
  return waiting;
}

/**
 * A store that writes to its own file.
 *
 * @example
 * const store: FileEventStore = fileEventStore('data/events.jsonl');
 */
export type FileEventStore = EventStore & { close(): void };

/**
 * Makes a store that keeps its events in a file with mode 0600. The store appends JSON Lines. It
 * rewrites the file without finished events at each start and after a number of lines.
 *
 * @param path - the file; the store creates a missing directory
 * @param options - with `sync: false` the operating system decides when data reaches the disk
 * @throws Error if the file cannot be read or written
 * @example
 * const queue = createEventQueue({ client, store: fileEventStore('data/events.jsonl') });
 */
export function fileEventStore(path: string, options: { sync?: boolean } = {}): FileEventStore {
  const { sync = true } = options;
  mkdirSync(dirname(path), { recursive: true, mode: ownerOnlyDirectory });
  const waiting = readLines(path);
  let newLines = 0;
  let file = rewrite();

  function rewrite(): number {
    const unfinished = `${path}.new`;
    const lines = [...waiting.values()].map((put) => `${JSON.stringify({ put })}\n`);
    writeFileSync(unfinished, lines.join(''), { mode: ownerOnly, flush: sync });
    renameSync(unfinished, path);
    if (sync) syncDirectory(dirname(path));
    return openSync(path, 'a', ownerOnly);
  }

  function append(line: Line): void {
    writeSync(file, `${JSON.stringify(line)}\n`);
    if (sync) fdatasyncSync(file);
    newLines += 1;
    if (newLines < newLinesMax) return;
    closeSync(file);
    file = rewrite();
    newLines = 0;
  }

  return {
    load: () => [...waiting.values()],
    save(one) {
      waiting.set(one.event.eventId, one);
      append({ put: one });
    },
    remove(eventId) {
      if (!waiting.delete(eventId)) return;
      append({ done: eventId });
    },
    close: () => closeSync(file),
  };
}
