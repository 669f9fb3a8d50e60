/** Stores the services of a point of sale and their outcomes across restarts. */
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
import type { Header } from '@switchyard/nexo';

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

/**
 * Makes a store that keeps services in memory only: for tests, and for tills that take no money.
 *
 * @example
 * const terminal = createTerminal({ ...settings, store: memoryServiceStore() });
 */
export function memoryServiceStore(): ServiceStore {
  const services = new Map<string, StoredService>();
  return {
    load: () => [...services.values()],
    save(service) {
      services.set(service.serviceId, service);
    },
    remove(serviceId) {
      services.delete(serviceId);
    },
  };
}

const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const newLinesMax = 20_000;

type Line = { readonly put: StoredService } | { readonly gone: string };

/** A rename is durable only after its directory is synced. Windows cannot open directories. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/** An incomplete last line belongs to a request that was not sent. */
function readLines(path: string): Map<string, StoredService> {
  const services = new Map<string, StoredService>();
  if (!existsSync(path)) return services;
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const line = JSON.parse(text) as Line;
    if ('put' in line) services.set(line.put.serviceId, line.put);
    else services.delete(line.gone);
  }
  return services;
}

/**
 * A store that writes to its own file.
 *
 * @example
 * const store: FileServiceStore = fileServiceStore('data/till-3.jsonl');
 */
export type FileServiceStore = ServiceStore & { close(): void };

/**
 * Makes a store that keeps its services in a file with mode 0600. The store appends and syncs JSON
 * Lines. It rewrites the file at each start and after a number of lines.
 *
 * @param path - the file; the store creates a missing directory
 * @throws Error if the file cannot be read or written
 * @example
 * const terminal = createTerminal({ ...settings, store: fileServiceStore('data/till-3.jsonl') });
 */
export function fileServiceStore(path: string): FileServiceStore {
  mkdirSync(dirname(path), { recursive: true, mode: ownerOnlyDirectory });
  const services = readLines(path);
  let file = -1;
  /**
   * Infinite if the file may end in the middle of a line: the next append then rewrites the file.
   */
  let newLines = Number.POSITIVE_INFINITY;
  rewrite();

  function close(): void {
    const former = file;
    file = -1;
    if (former !== -1) closeSync(former);
  }

  function rewrite(): void {
    const unfinished = `${path}.new`;
    const lines = [...services.values()].map((put) => `${JSON.stringify({ put })}\n`);
    writeFileSync(unfinished, lines.join(''), { mode: ownerOnly, flush: true });
    renameSync(unfinished, path);
    close();
    file = openSync(path, 'a', ownerOnly);
    syncDirectory(dirname(path));
    newLines = 0;
  }

  function append(line: Line): void {
    if (newLines >= newLinesMax) rewrite();
    const before = newLines;
    newLines = Number.POSITIVE_INFINITY;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fdatasyncSync(file);
    newLines = before + 1;
  }

  return {
    load: () => [...services.values()],
    save(service) {
      append({ put: service });
      services.set(service.serviceId, service);
    },
    remove(serviceId) {
      if (!services.has(serviceId)) return;
      append({ gone: serviceId });
      services.delete(serviceId);
    },
    close,
  };
}
