// Look-ups that may be a little old: a bounded cache that outlives a short absence of the database.
import { Refusal } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/index.ts';

type Options<Key, Found extends object> = {
  readonly max: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  nameOf(key: Key): string;
  /** `known` is what the cache has of it, however old. */
  load(key: Key, known: Found | undefined): Promise<Found | undefined>;
};

export type CachedLookup<Key, Found> = {
  find(key: Key): Promise<Found | undefined>;
  /** Asks the database, whatever the cache has. */
  refresh(key: Key): Promise<Found | undefined>;
  forget(key: Key): void;
};

/** What is not there is not remembered: it may be made at any moment. */
export function createCachedLookup<Key, Found extends object>(
  options: Options<Key, Found>,
): CachedLookup<Key, Found> {
  const { max, ttlMs, clock, nameOf, load } = options;
  const cache = new LRUCache<string, Found, { readonly key: Key }>({
    max,
    ttl: ttlMs,
    ttlResolution: 0,
    perf: clock,
    async fetchMethod(_name, known, { context }) {
      try {
        return await load(context.key, known);
      } catch (error) {
        // Better the state of a moment ago than nobody being let in.
        if (known !== undefined && error instanceof Refusal) return known;
        throw error;
      }
    },
    // What is forgotten while it is read still answers those who asked, and is not kept.
    ignoreFetchAbort: true,
  });
  return {
    find: (key) => cache.fetch(nameOf(key), { context: { key } }),
    refresh: (key) => cache.fetch(nameOf(key), { context: { key }, forceRefresh: true }),
    forget(key) {
      cache.delete(nameOf(key));
    },
  };
}
