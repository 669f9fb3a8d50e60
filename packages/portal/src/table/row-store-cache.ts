/** Lists that were left are kept for a while, with their place: whoever comes back finds it again. */
import { nowMs } from '../session/clock.ts';
import { createRowStore, type ReadPage, type RowStore } from './row-store.ts';

const maxStores = 6;
/** Whoever comes back later wants to see what is new. */
const cacheMs = 2 * 60_000;

type CachedStore = { readonly store: RowStore<unknown>; readonly madeAt: number };

const cache = new Map<string, CachedStore>();

export function storeFor<Row>(key: string, read: ReadPage<Row>): RowStore<Row> {
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

/** After a change: lists whose key begins so are read anew when they are next shown. */
export function forgetLists(prefix: string): void {
  for (const key of cache.keys()) if (key.startsWith(prefix)) cache.delete(key);
}
