// Finds the rows that an input refers to; an import supplies rows that it has already read.

import type { CallerScope } from './caller-scope.ts';
import { isUuid } from './format-rules.ts';
import { createRowRepository, type EntityTable, type Row, type SqlRunner } from './resource-sql.ts';

export type ReferencedRows = {
  readonly run: SqlRunner;
  /** Finds a row in scope that is not removed, and locks it until the transaction ends. */
  findForShare(table: EntityTable, scope: CallerScope, id: unknown): Promise<Row | undefined>;
};

/** Runs one statement for each row. */
export const createReferencedRows = (run: SqlRunner): ReferencedRows => ({
  run,
  async findForShare(table, scope, id) {
    const rowId = String(id);
    return isUuid(rowId) ? createRowRepository(table).find(run, scope, rowId, 'share') : undefined;
  },
});
