// A bounded cache in front of database look-ups; it serves old values while the database is down.
import { ProblemError } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';

type Options<Key, Found extends object> = {
  readonly max: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  keyOf(key: Key): string;
  /** `cached` is the cached value, however old. */
  load(key: Key, cached: Found | undefined): Promise<Found | undefined>;
};

export type CachedLookup<Key, Found> = {
  find(key: Key): Promise<Found | undefined>;
  /** Reads from the database and replaces the cached value. */
  refresh(key: Key): Promise<Found | undefined>;
  forget(key: Key): void;
};

/** A missing row: the cache treats `undefined` as an aborted fetch. */
const notFound = Symbol('nothing');

/** A missing row is not cached, because it may be inserted at any moment. */
export function createCachedLookup<Key, Found extends object>(
  options: Options<Key, Found>,
): CachedLookup<Key, Found> {
  const { max, ttlMs, clock, keyOf, load } = options;
  const cache = new LRUCache<string, Found | typeof notFound, { readonly key: Key }>({
    ...lruCacheOptions(max),
    ttl: ttlMs,
    ttlResolution: 0,
    perf: clock,
    async fetchMethod(_name, stale, { context }) {
      const cached = stale === notFound ? undefined : stale;
      try {
        return (await load(context.key, cached)) ?? notFound;
      } catch (error) {
        // While the database is down, an old value is better than refusing all users.
        if (cached !== undefined && error instanceof ProblemError) return cached;
        throw error;
      }
    },
    // A value that is invalidated during its fetch still answers the waiting callers, but is not
    // cached.
    ignoreFetchAbort: true,
  });

  async function fetch(key: Key, forceRefresh: boolean): Promise<Found | undefined> {
    const name = keyOf(key);
    const value = await cache.fetch(name, { context: { key }, forceRefresh });
    if (value !== notFound) return value;
    if (cache.peek(name) === notFound) cache.delete(name);
    return undefined;
  }

  return {
    find: (key) => fetch(key, false),
    refresh: (key) => fetch(key, true),
    forget(key) {
      cache.delete(keyOf(key));
    },
  };
}
