// Finds audit records: in pages by filters, one by its number, or all of a time range as an export.
import { type AuditRecord, defined, throwProblem } from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  type PageRequest,
  parseTimeRange,
  type TimeRange,
} from '../http/index.ts';
import type { Database } from '../platform/index.ts';
import { findRecord, lastSequence, listRecords, type RecordFilters } from './audit-sql.ts';

/** The records of an export that are in memory at a time. */
const exportPageSize = 500;

/** The format of a sequence number in URLs and cursors. */
export const sequencePattern = /^[1-9]\d{0,14}$/;

export type RecordFinder = ReturnType<typeof createRecordFinder>;
type Order = 'NewestFirst' | 'OldestFirst';
export type Search = Omit<RecordFilters, 'organizationId' | 'merchantId'> & {
  readonly order?: Order;
};
type ExportSpan = TimeRange & { readonly after?: number };

/** A caller of a merchant sees changes of the merchant and its entities only. */
function visibleScope(caller: Caller) {
  const { organizationId, entityType, entityId } = caller;
  const merchantId = entityType === 'merchant' ? entityId : caller.merchantId;
  return merchantId === undefined ? { organizationId } : { organizationId, merchantId };
}

export function createRecordFinder(database: Database) {
  return {
    async list(
      caller: Caller,
      { order = 'NewestFirst', ...filters }: Search,
      page: PageRequest,
    ): Promise<FoundPage<AuditRecord>> {
      const records = await listRecords(
        database,
        { ...filters, ...parseTimeRange(filters), ...visibleScope(caller) },
        {
          isAscending: order === 'OldestFirst',
          limit: page.limit + 1,
          ...defined({ after: page.after === undefined ? undefined : Number(page.after) }),
        },
      );
      const items = records.slice(0, page.limit);
      const next = records.length > page.limit ? items.at(-1)?.sequence : undefined;
      return { items, next: next === undefined ? undefined : String(next) };
    },

    async get(caller: Caller, sequence: string): Promise<AuditRecord> {
      const record = sequencePattern.test(sequence)
        ? await findRecord(database, visibleScope(caller), Number(sequence))
        : undefined;
      if (record !== undefined) return record;
      return throwProblem(
        'resource_not_found',
        'No audit record that you may see has this sequence number.',
      );
    },

    /**
     * In the order of the chain, up to the record that is last at the start, so that the export ends.
     * Each part consists of lines of JSON.
     */
    async *lines(caller: Caller, { after = 0, ...span }: ExportSpan): AsyncGenerator<string> {
      const scope = { ...parseTimeRange(span), ...visibleScope(caller) };
      const end = await lastSequence(database, caller.organizationId);
      for (let last = after; last < end; ) {
        const records = await listRecords(
          database,
          { ...scope, upTo: end },
          { isAscending: true, limit: exportPageSize, after: last },
        );
        if (records.length > 0) {
          yield records.map((record) => `${JSON.stringify(record)}\n`).join('');
        }
        last = records.length < exportPageSize ? end : (records.at(-1)?.sequence ?? end);
      }
    },
  };
}
