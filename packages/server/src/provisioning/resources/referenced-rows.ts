// Finds the rows that an input refers to; an import supplies rows that it has already read.

import type { Scope } from './caller-scope.ts';
import { isUuid } from './format-rules.ts';
import { createRecords, type Row, type Run, type Table } from './resource-sql.ts';

export type Lookup = {
  readonly run: Run;
  /** Finds a row in scope that is not removed, and locks it until the transaction ends. */
  share(table: Table, scope: Scope, id: unknown): Promise<Row | undefined>;
};

/** Runs one statement for each row. */
export const lookupIn = (run: Run): Lookup => ({
  run,
  async share(table, scope, id) {
    const wanted = String(id);
    return isUuid(wanted) ? createRecords(table).find(run, scope, wanted, 'share') : undefined;
  },
});
