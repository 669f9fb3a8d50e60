// Finds lines of the log: page by page, or those behind a number as a stream goes on.
import type { LoggedRequest } from '@switchyard/contract';
import { type Caller, type FoundPage, type PageRequest, spanOf } from '../http/index.ts';
import type { LineFilters, LineStore } from './store.ts';

/** As addresses and cursors carry it. */
export const sequenceForm = /^[1-9]\d{0,14}$/;
export const streamRows = 200;

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

    /** The lines behind a number, the oldest first. */
    behind: (caller: Caller, search: Search, after: number): Promise<LoggedRequest[]> =>
      rows(caller, { ...search, after }, { isAscending: true, limit: streamRows }),

    async head({ organizationId }: Caller): Promise<number> {
      const [head] = await store.heads([organizationId]);
      return head?.sequence ?? 0;
    },
  };
}
