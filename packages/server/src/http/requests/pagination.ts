// Pages of lists: the query parameters limit and cursor, and the opaque cursor of the next page.
import { createHash } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import { Type } from 'typebox';
import { isLowerCaseUuid } from '../../platform/index.ts';

export const pageLimitDefault = 50;
export const pageLimitMax = 200;
const cursorLimitChars = 1024;

/** The members of the query schema of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageLimitMax,
      default: pageLimitDefault,
      description: 'The maximum number of items in the page.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: cursorLimitChars,
      description: 'The nextCursor of the previous page, with the same filters.',
      'x-codes': { default: 'cursor_invalid' },
    }),
  ),
};

type ListQuery = Readonly<Record<string, unknown>>;

/** The page begins after the item with the key `after`. */
export type PageRequest = { readonly limit: number; readonly after?: string };

/** One page of a module's list; `next` is the key of its last item when more items follow. */
export type FoundPage<Item> = {
  readonly items: readonly Item[];
  readonly next?: string | undefined;
};

export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor: string | null };

/** Binds a cursor to its list and filters. */
function cursorDigest(key: string, query: ListQuery, list: string): string {
  const { limit: _limit, cursor: _cursor, ...filters } = query;
  const sorted = Object.entries(filters).sort(([one], [other]) => (one < other ? -1 : 1));
  const text = JSON.stringify([list, sorted, key]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 12);
}

function readCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A regular expression or another check of the keys of a list. */
export type KeyPattern = { test(key: string): boolean };

/**
 * Reads a validated query. A client can forge the key in a cursor, so its format is checked before it
 * reaches the database; the default format is a UUID.
 */
export function readPageRequest(
  query: ListQuery,
  list: string,
  keyPattern: KeyPattern = { test: isLowerCaseUuid },
): PageRequest {
  const { limit = pageLimitDefault, cursor } = query;
  if (cursor === undefined) return { limit: Number(limit) };
  const parts = readCursor(String(cursor));
  const [key, digest]: unknown[] = Array.isArray(parts) ? parts : [];
  if (
    typeof key !== 'string' ||
    !keyPattern.test(key) ||
    digest !== cursorDigest(key, query, list)
  ) {
    return throwProblem(
      'cursor_invalid',
      'The cursor does not belong to this list with these filters; send the nextCursor of the previous page.',
      {
        errors: [
          { pointer: '?cursor', code: 'cursor_invalid', detail: 'Is not a cursor of this list.' },
        ],
      },
    );
  }
  return { limit: Number(limit), after: key };
}

export function pageResponse<Item>(
  { items, next }: FoundPage<Item>,
  query: ListQuery,
  list: string,
): Page<Item> {
  if (next === undefined) return { items, nextCursor: null };
  const cursor = JSON.stringify([next, cursorDigest(next, query, list)]);
  return { items, nextCursor: Buffer.from(cursor, 'utf8').toString('base64url') };
}

/** Reads one row more than the page has, to know whether another page follows. */
export async function readPage<Row, Item>(
  page: PageRequest,
  readRows: (page: PageRequest) => Promise<readonly Row[]>,
  keyOf: (row: Row) => string,
  toItem: (row: Row) => Item,
): Promise<FoundPage<Item>> {
  const rows = await readRows({ ...page, limit: page.limit + 1 });
  const pageRows = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? pageRows.at(-1) : undefined;
  return { items: pageRows.map(toItem), next: last === undefined ? undefined : keyOf(last) };
}
