// Look-ups that may be a little old: a bounded cache that outlives a short absence of the database.
import { Refusal } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { atMost, type Clock } from '../../platform/index.ts';

type Options<Key, Found extends object> = {
  readonly max: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  keyOf(key: Key): string;
  /** `known` is what the cache has of it, however old. */
  load(key: Key, cached: Found | undefined): Promise<Found | undefined>;
};

export type CachedLookup<Key, Found> = {
  find(key: Key): Promise<Found | undefined>;
  /** Asks the database, whatever the cache has. */
  refresh(key: Key): Promise<Found | undefined>;
  forget(key: Key): void;
};

/** Stands for what is not there: for the cache `undefined` would be a fault of a forgotten read. */
const notFound = Symbol('nothing');

/** What is not there is not remembered: it may be made at any moment. */
export function createCachedLookup<Key, Found extends object>(
  options: Options<Key, Found>,
): CachedLookup<Key, Found> {
  const { max, ttlMs, clock, keyOf, load } = options;
  const cache = new LRUCache<string, Found | typeof notFound, { readonly key: Key }>({
    ...atMost(max),
    ttl: ttlMs,
    ttlResolution: 0,
    perf: clock,
    async fetchMethod(_name, stale, { context }) {
      const cached = stale === notFound ? undefined : stale;
      try {
        return (await load(context.key, cached)) ?? notFound;
      } catch (error) {
        // Better the state of a moment ago than nobody being let in.
        if (cached !== undefined && error instanceof Refusal) return cached;
        throw error;
      }
    },
    // What is forgotten while it is read still answers those who asked, and is not kept.
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
