/** Caches recent lists with their scroll position, for users that navigate back. */
import { useMemo, useRef, useSyncExternalStore } from 'react';
import { nowMs } from '../session/clock.ts';
import { createRowStore, type ReadPage, type RowStore } from './row-store.ts';

const maxStores = 6;
/** After this time the list reloads. */
const cacheMs = 2 * 60_000;

type CachedStore = { readonly store: RowStore<unknown>; readonly madeAt: number };

const cache = new Map<string, CachedStore>();

function recentRowStore<Row>(key: string, read: ReadPage<Row>): RowStore<Row> {
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

let discardCount = 0;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Removes cached lists after a change; lists whose key begins with this name reload. */
export function discardLists(name: string): void {
  for (const key of cache.keys()) if (key.startsWith(`["${name}"`)) cache.delete(key);
  discardCount += 1;
  for (const listener of listeners) listener();
}

export function useRowStore<Row>(key: readonly unknown[], read: ReadPage<Row>): RowStore<Row> {
  const name = JSON.stringify(key);
  const discards = useSyncExternalStore(subscribe, () => discardCount);
  // `read` is a new function on each render; only the key changes what it reads.
  const latest = useRef(read);
  latest.current = read;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a discarded list is read again
  return useMemo(
    () => recentRowStore<Row>(name, (cursor, signal) => latest.current(cursor, signal)),
    [name, discards],
  );
}
