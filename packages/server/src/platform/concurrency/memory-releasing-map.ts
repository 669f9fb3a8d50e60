// A map for work in progress that releases the memory of finished entries at once.

export type MemoryReleasingMap<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** In insertion order. */
  entries(): [key: string, value: Value][];
  /** The key that was inserted first. */
  oldest(): string | undefined;
  size(): number;
};

type Entry<Value> = { value: Value | undefined };

/**
 * A Map rebuilds its table after some inserts and deletes, and V8 keeps the old tables with their
 * values until the next collection of the whole heap. Here the values of deleted entries are
 * cleared first. With the sales in the old tables, garbage collection took a third of the server's
 * time.
 *
 * @example const waiting = createMemoryReleasingMap<Waiting>(); waiting.set(key, entry); waiting.delete(key);
 */
export function createMemoryReleasingMap<Value>(): MemoryReleasingMap<Value> {
  const entriesByKey = new Map<string, Entry<Value>>();

  function remove(key: string): void {
    const entry = entriesByKey.get(key);
    if (entry === undefined) return;
    entry.value = undefined;
    entriesByKey.delete(key);
  }

  return {
    get: (key) => entriesByKey.get(key)?.value,
    set(key, value) {
      const entry = entriesByKey.get(key);
      if (entry === undefined) entriesByKey.set(key, { value });
      else entry.value = value;
    },
    delete: remove,
    oldest: () => entriesByKey.keys().next().value,
    entries: () => [...entriesByKey].map(([key, { value }]) => [key, value as Value]),
    size: () => entriesByKey.size,
  };
}
