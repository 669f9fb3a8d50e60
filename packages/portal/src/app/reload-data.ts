/** Reloads what a change affects: the lists and the queries whose keys begin with these names. */
import { queryClient } from '../api/query-client.ts';
import { discardLists } from '../table/row-store-cache.ts';

export function reloadData(...names: readonly string[]): void {
  for (const name of names) {
    discardLists(name);
    void queryClient.invalidateQueries({ queryKey: [name] });
  }
}
