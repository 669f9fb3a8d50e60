/** Stores events until the platform has acknowledged them: in memory or in a file. */
import type { ProviderEvent } from '@switchyard/contract';
import { fileItemStore, memoryItemStore } from '@switchyard/sdk-core';
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

const eventIdOf = ({ event }: WaitingEvent): string => event.eventId;

/**
 * Makes a store that keeps events in memory only, for tests.
 *
 * @example
 * const queue = createEventQueue({ client, store: memoryEventStore() });
 */
export function memoryEventStore(): EventStore {
  return memoryItemStore(eventIdOf);
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
  return fileItemStore({ path, keyOf: eventIdOf, removedMember: 'done', ...options });
}
