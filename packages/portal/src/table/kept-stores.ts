/** Lists that were left are kept for a while, with their place: whoever comes back finds it again. */
import { createRowStore, type ReadPage, type RowStore } from './row-store.ts';

const keptMost = 6;
const kept = new Map<string, RowStore<unknown>>();

export function storeFor<Row>(key: string, read: ReadPage<Row>): RowStore<Row> {
  const known = kept.get(key) as RowStore<Row> | undefined;
  const store = known ?? createRowStore(read);
  kept.delete(key);
  kept.set(key, store as RowStore<unknown>);
  for (const oldest of kept.keys()) {
    if (kept.size <= keptMost) break;
    kept.delete(oldest);
  }
  return store;
}

/** After a change: lists whose key begins so are read anew when they are next shown. */
export function forgetLists(prefix: string): void {
  for (const key of kept.keys()) if (key.startsWith(prefix)) kept.delete(key);
}
