// Finds lines of the log: page by page, or those behind a number as a stream goes on.
import type { LoggedRequest } from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  type PageRequest,
  type StreamPage,
  spanOf,
} from '../http/index.ts';
import type { LineFilters, LineStore } from './request-log-sql.ts';

/** As addresses and cursors carry it. */
export const sequenceForm = /^[1-9]\d{0,14}$/;
const streamRows = 64;

export type Search = Omit<LineFilters, 'organizationId'> & {
  readonly order?: 'NewestFirst' | 'OldestFirst';
  readonly after?: number;
};

/** One merchant's caller sees what that merchant's tokens asked, and nothing else. */
function withinSightOf(caller: Caller, { merchantId }: Search) {
  const { organizationId, entityType, entityId } = caller;
  const own = entityType === 'merchant' ? entityId : caller.merchantId;
  if (own === undefined) return { organizationId, merchantId };
  const isOther = merchantId !== undefined && merchantId.toLowerCase() !== own.toLowerCase();
  return isOther ? undefined : { organizationId, merchantId: own };
}

export type Finder = ReturnType<typeof createFinder>;

export function createFinder(store: Pick<LineStore, 'list' | 'heads'>) {
  function rows(
    caller: Caller,
    { order: _order, after, ...filters }: Search,
    cut: { isAscending: boolean; limit: number; behind?: number | undefined },
  ): Promise<LoggedRequest[]> {
    const within = withinSightOf(caller, filters);
    if (within === undefined) return Promise.resolve([]);
    return store.list({ ...filters, ...spanOf(filters), ...within }, { ...cut, after });
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
      const found = await rows(caller, search, {
        isAscending: search.order === 'OldestFirst',
        limit: page.limit + 1,
        behind: page.after === undefined ? undefined : Number(page.after),
      });
      const items = found.slice(0, page.limit);
      const next = found.length > page.limit ? items.at(-1)?.sequence : undefined;
      return { items, next: next === undefined ? undefined : String(next) };
    },

    /**
     * The lines behind a number as a stream tells them. How far the log had come is read first: what is
     * kept meanwhile lies behind it, and is found by the next look.
     */
    async behind(caller: Caller, search: Search, after: number): Promise<StreamPage> {
      const known = await headOf(caller);
      const cut = { isAscending: true, limit: streamRows };
      const found = await rows(caller, { ...search, after }, cut);
      const last = found.at(-1)?.sequence ?? after;
      return {
        events: found.map((line) => ({
          id: line.sequence,
          type: 'request',
          data: JSON.stringify(line),
        })),
        next: found.length === streamRows ? last : Math.max(known, last),
      };
    },

    /** How far the log has come. */
    headOf,
  };
}
