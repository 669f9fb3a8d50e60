// Finds the rows that an input points at; a batch hands in those that it has read already.
import { isUuid } from './rules.ts';
import type { Scope } from './scope.ts';
import { createRecords, type Row, type Run, type Table } from './store.ts';

export type Lookup = {
  readonly run: Run;
  /** A living row in sight, which stays until the transaction ends. */
  share(table: Table, scope: Scope, id: unknown): Promise<Row | undefined>;
};

/** One statement for each row. */
export const lookupIn = (run: Run): Lookup => ({
  run,
  async share(table, scope, id) {
    const wanted = String(id);
    return isUuid(wanted) ? createRecords(table).find(run, scope, wanted, 'share') : undefined;
  },
});
