// Finds audit records: in pages by filters, one by its number, or all of a time range as an export.
import { type AuditRecord, defined, throwProblem } from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  merchantOf,
  type PageRequest,
  parseTimeRange,
  readPage,
  type TimeRange,
} from '../http/index.ts';
import type { Database } from '../platform/index.ts';
import { findRecord, lastSequence, listRecords, type RecordFilters } from './audit-sql.ts';

/** The records of an export that are in memory at a time. */
const exportPageSize = 500;

/** The format of a sequence number in URLs and cursors. */
export const sequencePattern = /^[1-9]\d{0,14}$/;

export type RecordFinder = ReturnType<typeof createAuditRecordFinder>;
type Order = 'NewestFirst' | 'OldestFirst';
export type Search = Omit<RecordFilters, 'organizationId' | 'merchantId'> & {
  readonly order?: Order;
};
type ExportSpan = TimeRange & { readonly after?: number };

/** A caller of a merchant sees changes of the merchant and its entities only. */
function visibleScope(caller: Caller) {
  return { organizationId: caller.organizationId, ...defined({ merchantId: merchantOf(caller) }) };
}

export function createAuditRecordFinder(database: Database) {
  return {
    list(
      caller: Caller,
      { order = 'NewestFirst', ...filters }: Search,
      page: PageRequest,
    ): Promise<FoundPage<AuditRecord>> {
      const search = { ...filters, ...parseTimeRange(filters), ...visibleScope(caller) };
      const isAscending = order === 'OldestFirst';
      return readPage(
        page,
        ({ limit, after: key }) => {
          const after = key === undefined ? undefined : Number(key);
          return listRecords(database, search, { isAscending, limit, ...defined({ after }) });
        },
        ({ sequence }) => String(sequence),
        (record) => record,
      );
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
