/** Caches recent lists with their scroll position, for users that navigate back. */
import { nowMs } from '../session/clock.ts';
import { createRowStore, type ReadPage, type RowStore } from './row-store.ts';

const maxStores = 6;
/** After this time the list reloads. */
const cacheMs = 2 * 60_000;

type CachedStore = { readonly store: RowStore<unknown>; readonly madeAt: number };

const cache = new Map<string, CachedStore>();

export function recentRowStore<Row>(key: string, read: ReadPage<Row>): RowStore<Row> {
  const cached = cache.get(key);
  cache.delete(key);
  const isGood = cached !== undefined && nowMs() - cached.madeAt < cacheMs;
  const next = isGood
    ? cached
    : { store: createRowStore(read) as RowStore<unknown>, madeAt: nowMs() };
  cache.set(key, next);
  for (const oldest of cache.keys()) {
    if (cache.size <= maxStores) break;
    cache.delete(oldest);
  }
  return next.store as RowStore<Row>;
}

/** Removes cached lists after a change; keys with this prefix reload. */
export function discardLists(prefix: string): void {
  for (const key of cache.keys()) if (key.startsWith(prefix)) cache.delete(key);
}
