// Finds the rows that an input refers to; an import supplies rows that it has already read.

import { isUuid, type Queries } from '../../platform/index.ts';
import type { CallerScope } from './caller-scope.ts';
import { createRowRepository, type EntityTable, type Row } from './resource-sql.ts';

export type ReferencedRows = {
  readonly queries: Queries;
  /** Finds a row in scope that is not removed, and locks it until the transaction ends. */
  findForShare(table: EntityTable, scope: CallerScope, id: unknown): Promise<Row | undefined>;
};

/** Runs one statement for each row. */
export const createReferencedRows = (queries: Queries): ReferencedRows => ({
  queries,
  async findForShare(table, scope, id) {
    const rowId = String(id);
    return isUuid(rowId)
      ? createRowRepository(table).find(queries, scope, rowId, 'share')
      : undefined;
  },
});
