// Finds lines of the request log: in pages, or after a sequence number for a stream.
import type { LoggedRequest } from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  type PageRequest,
  parseTimeRange,
  type StreamPage,
} from '../http/index.ts';
import type { RequestLogFilters, RequestLogStore } from './request-log-sql.ts';

/** The format of a sequence number in URLs and cursors. */
export const sequencePattern = /^[1-9]\d{0,14}$/;
const streamPageSize = 64;

export type Search = Omit<RequestLogFilters, 'organizationId'> & {
  readonly order?: 'NewestFirst' | 'OldestFirst';
  readonly after?: number;
};

/** A caller of one merchant sees the requests of that merchant's tokens only. */
function visibleScope(caller: Caller, { merchantId }: Search) {
  const { organizationId, entityType, entityId } = caller;
  const ownMerchantId = entityType === 'merchant' ? entityId : caller.merchantId;
  if (ownMerchantId === undefined) return { organizationId, merchantId };
  const isOther =
    merchantId !== undefined && merchantId.toLowerCase() !== ownMerchantId.toLowerCase();
  return isOther ? undefined : { organizationId, merchantId: ownMerchantId };
}

export type RequestFinder = ReturnType<typeof createRequestFinder>;

export function createRequestFinder(store: Pick<RequestLogStore, 'list' | 'heads'>) {
  function findRows(
    caller: Caller,
    { order: _order, after, ...filters }: Search,
    range: { isAscending: boolean; limit: number; cursor?: number | undefined },
  ): Promise<LoggedRequest[]> {
    const scope = visibleScope(caller, filters);
    if (scope === undefined) return Promise.resolve([]);
    return store.list({ ...filters, ...parseTimeRange(filters), ...scope }, { ...range, after });
  }

  async function headOf({ organizationId }: Caller): Promise<number> {
    const [head] = await store.heads([organizationId]);
    return head?.sequence ?? 0;
  }

  return {
    async list(
      caller: Caller,
      search: Search,
      page: PageRequest,
    ): Promise<FoundPage<LoggedRequest>> {
      const lines = await findRows(caller, search, {
        isAscending: search.order === 'OldestFirst',
        limit: page.limit + 1,
        cursor: page.after === undefined ? undefined : Number(page.after),
      });
      const items = lines.slice(0, page.limit);
      const next = lines.length > page.limit ? items.at(-1)?.sequence : undefined;
      return { items, next: next === undefined ? undefined : String(next) };
    },

    /**
     * The lines after a sequence number as stream events. The head is read first: lines that are added
     * during the query are after it and are found by the next read.
     */
    async streamPage(caller: Caller, search: Search, cursor: number): Promise<StreamPage> {
      const headBefore = await headOf(caller);
      const range = { isAscending: true, limit: streamPageSize };
      const lines = await findRows(caller, { ...search, after: cursor }, range);
      const last = lines.at(-1)?.sequence ?? cursor;
      return {
        events: lines.map((line) => ({
          id: line.sequence,
          type: 'request',
          data: JSON.stringify(line),
        })),
        next: lines.length === streamPageSize ? last : Math.max(headBefore, last),
      };
    },

    /** The sequence number of the newest line. */
    headOf,
  };
}
