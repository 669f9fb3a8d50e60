// Caches the results of frequent queries for a short time, until this process changes the data.
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';

const rememberedMax = 10_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const rememberedMs = 5000;

type Remembered<Value> = {
  readonly organizationId: string;
  readonly value: Promise<Value>;
  readonly until: number;
};

/** A bounded cache of promises: concurrent callers share one query, and errors are not cached. */
export function createMemory<Value>(clock: Clock) {
  const remembered = new LRUCache<string, Remembered<Value>>(lruCacheOptions(rememberedMax));
  return {
    /** @param alsoAs - returns another key for the same value */
    get(
      organizationId: string,
      key: string,
      load: () => Promise<Value>,
      alsoAs?: (value: Value) => string | undefined,
    ): Promise<Value> {
      const now = clock.now();
      const known = remembered.get(key);
      if (known !== undefined && now < known.until) return known.value;
      const entry = { organizationId, value: load(), until: now + rememberedMs };
      remembered.set(key, entry);
      // A value that was invalidated during its query is not cached.
      const isKept = () => remembered.peek(key) === entry;
      entry.value.then(
        (value) => {
          const other = alsoAs?.(value);
          if (other !== undefined && isKept()) remembered.set(other, entry);
        },
        () => isKept() && remembered.delete(key),
      );
      return entry.value;
    },
    forget(organizationId: string): void {
      for (const [key, entry] of remembered.entries()) {
        if (entry.organizationId === organizationId) remembered.delete(key);
      }
    },
    clear: () => remembered.clear(),
  };
}
