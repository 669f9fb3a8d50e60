// Caches the results of frequent queries for a short time, until this process changes the data.
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';

const entriesMax = 10_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const lifetimeMs = 5000;

type CacheEntry<Value> = {
  readonly organizationId: string;
  readonly value: Promise<Value>;
  readonly until: number;
};

/** A bounded cache of promises: concurrent callers share one query, and errors are not cached. */
export function createShortLivedCache<Value>(clock: Clock) {
  const entries = new LRUCache<string, CacheEntry<Value>>(lruCacheOptions(entriesMax));
  return {
    /** @param otherKeyOf returns another key for the same value */
    get(
      organizationId: string,
      key: string,
      load: () => Promise<Value>,
      otherKeyOf?: (value: Value) => string | undefined,
    ): Promise<Value> {
      const now = clock.now();
      const cached = entries.get(key);
      if (cached !== undefined && now < cached.until) return cached.value;
      const entry = { organizationId, value: load(), until: now + lifetimeMs };
      entries.set(key, entry);
      // A value that was invalidated during its query is not cached.
      const isCurrent = () => entries.peek(key) === entry;
      entry.value.then(
        (value) => {
          const otherKey = otherKeyOf?.(value);
          if (otherKey !== undefined && isCurrent()) entries.set(otherKey, entry);
        },
        () => isCurrent() && entries.delete(key),
      );
      return entry.value;
    },
    invalidateOrganization(organizationId: string): void {
      for (const [key, entry] of entries.entries()) {
        if (entry.organizationId === organizationId) entries.delete(key);
      }
    },
    clear: () => entries.clear(),
  };
}
