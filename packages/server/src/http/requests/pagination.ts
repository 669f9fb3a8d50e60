// Cuts lists into pages: how many, and an opaque cursor to where the next page begins.
import { createHash } from 'node:crypto';
import { refuse } from '@switchyard/contract';
import { Type } from 'typebox';

export const pageLimitDefault = 50;
export const pageLimitMax = 200;
const cursorLimitChars = 1024;

/** To be spread into the query schema of a list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageLimitMax,
      default: pageLimitDefault,
      description: 'How many items a page holds at most.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: cursorLimitChars,
      description: 'The nextCursor of the page before, with the same filters.',
      'x-codes': { default: 'cursor_invalid' },
    }),
  ),
};

type ListQuery = Readonly<Record<string, unknown>>;

/** Where the list goes on: after the item with this key. */
export type PageRequest = { readonly limit: number; readonly after?: string };

/** One page as a room found it; `next` is the key of its last item where more follow. */
export type FoundPage<Item> = {
  readonly items: readonly Item[];
  readonly next?: string | undefined;
};

export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor: string | null };

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The key and what it belongs to: a cursor fits its own list and filters alone. */
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

/** A regular expression, or whatever else knows the keys of a list. */
export type KeyPattern = { test(key: string): boolean };

/**
 * Reads a validated query. The key comes back from the client, who can make one of any form: it must
 * be one that the database takes, a UUID where nothing else is said.
 */
export function readPageRequest(
  query: ListQuery,
  list: string,
  keyPattern: KeyPattern = uuidPattern,
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
    return refuse('cursor_invalid', 'The cursor is not one of this list with these filters.', {
      errors: [{ pointer: '?cursor', code: 'cursor_invalid', detail: 'Is not a known cursor.' }],
    });
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
