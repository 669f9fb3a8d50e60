/** Stores the services of a point of sale and their outcomes across restarts. */
import type { Header } from '@switchyard/nexo';
import { fileItemStore, memoryItemStore } from '@switchyard/sdk-core';

/**
 * One service of a till. It has no message body, so it has no card data and no amount.
 *
 * @example
 * const { serviceId, outcome }: StoredService = service;
 */
export type StoredService = {
  readonly serviceId: string;
  readonly header: Header;
  /** The time of the begin, milliseconds since 1970. */
  readonly at: number;
  /** Your number of the sale or refund; a reversal has none. */
  readonly transactionId?: string;
  /** The terminal's and the platform's identifier of the payment that a refund or reversal names. */
  readonly originalTransactionId?: string;
  /**
   * Absent while the service runs. After a restart the till requests the outcome from the terminal.
   */
  readonly outcome?: 'Answered' | 'NotProcessed' | 'Unknown';
};

/**
 * A value, or a promise of it.
 *
 * @example
 * const saved: Awaitable<void> = store.save(service);
 */
export type Awaitable<Value> = Value | Promise<Value>;

/**
 * Stores services, for example in a table of the till's own database. Only one process at a time
 * may use a store, and each terminal needs its own store.
 *
 * @example
 * const store: ServiceStore = {
 *   load: () => sql`SELECT * FROM services`,
 *   save: (service) => sql`INSERT INTO services … ON CONFLICT (service_id) DO UPDATE …`,
 *   remove: (serviceId) => sql`DELETE FROM services WHERE service_id = ${serviceId}`,
 * };
 */
export type ServiceStore = {
  load(): Awaitable<readonly StoredService[]>;
  /** Saves a new service, or its outcome. The data is durable when the call returns. */
  save(service: StoredService): Awaitable<void>;
  remove(serviceId: string): Awaitable<void>;
};

const serviceIdOf = ({ serviceId }: StoredService): string => serviceId;

/**
 * Makes a store that keeps services in memory only: for tests, and for tills that take no money.
 *
 * @example
 * const terminal = createTerminal({ ...settings, store: memoryServiceStore() });
 */
export function memoryServiceStore(): ServiceStore {
  return memoryItemStore(serviceIdOf);
}

/**
 * A store that writes to its own file.
 *
 * @example
 * const store: FileServiceStore = fileServiceStore(`data/till-3-${tsn}.jsonl`);
 */
export type FileServiceStore = ServiceStore & { close(): void };

/**
 * Makes a store that keeps its services in a file with mode 0600. The store appends and syncs JSON
 * Lines. It rewrites the file at each start and after a number of lines.
 *
 * @param path - the file; the store creates a missing directory
 * @throws Error if the file cannot be read or written
 * @example
 * const terminal = createTerminal({ ...settings, store: fileServiceStore(`data/till-3-${tsn}.jsonl`) });
 */
export function fileServiceStore(path: string): FileServiceStore {
  return fileItemStore({ path, keyOf: serviceIdOf, removedMember: 'gone' });
}
