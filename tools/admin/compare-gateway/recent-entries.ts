// A map of the last entries, so that a trace of any length needs bounded memory.

export type RecentEntries<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  size(): number;
};

/**
 * Has at least the last `entriesMin` entries, and at most twice as many. Two maps, because a map from which the first
 * entries are deleted becomes slow: each search for its first entry passes the deleted ones.
 */
export function createRecentEntries<Value>(entriesMin: number): RecentEntries<Value> {
  let newer = new Map<string, Value>();
  let older = new Map<string, Value>();
  return {
    get: (key) => newer.get(key) ?? older.get(key),
    set(key, value) {
      if (newer.size >= entriesMin) {
        older = newer;
        newer = new Map();
      }
      older.delete(key);
      newer.set(key, value);
    },
    delete(key) {
      newer.delete(key);
      older.delete(key);
    },
    size: () => newer.size + older.size,
  };
}
