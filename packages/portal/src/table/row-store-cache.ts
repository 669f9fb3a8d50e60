/** Lists that were left are kept for a while, with their place: whoever comes back finds it again. */
import { nowMs } from '../session/clock.ts';
import { createRowStore, type ReadPage, type RowStore } from './row-store.ts';

const keptMost = 6;
/** Whoever comes back later wants to see what is new. */
const keptMs = 2 * 60_000;

type Kept = { readonly store: RowStore<unknown>; readonly madeAt: number };

const kept = new Map<string, Kept>();

export function storeFor<Row>(key: string, read: ReadPage<Row>): RowStore<Row> {
  const known = kept.get(key);
  kept.delete(key);
  const isGood = known !== undefined && nowMs() - known.madeAt < keptMs;
  const next = isGood
    ? known
    : { store: createRowStore(read) as RowStore<unknown>, madeAt: nowMs() };
  kept.set(key, next);
  for (const oldest of kept.keys()) {
    if (kept.size <= keptMost) break;
    kept.delete(oldest);
  }
  return next.store as RowStore<Row>;
}

/** After a change: lists whose key begins so are read anew when they are next shown. */
export function forgetLists(prefix: string): void {
  for (const key of kept.keys()) if (key.startsWith(prefix)) kept.delete(key);
}
