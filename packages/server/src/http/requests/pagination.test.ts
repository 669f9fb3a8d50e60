import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import fc from 'fast-check';
import { pageResponse, readPageRequest } from './pagination.ts';

const key = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';
const isRefused = (error: unknown) =>
  error instanceof ProblemError && error.code === 'cursor_invalid';

function cursorOf(query: Record<string, unknown>, list = 'stores', next = key): string {
  const { nextCursor } = pageResponse({ items: [1], next }, query, list);
  assert.ok(nextCursor !== null);
  return nextCursor;
}

describe('paging', () => {
  it('has a default limit of fifty', () => {
    assert.deepEqual(readPageRequest({}, 'stores'), { limit: 50 });
    assert.deepEqual(readPageRequest({ limit: 7 }, 'stores'), { limit: 7 });
  });

  it('continues after the previous page', () => {
    const cursor = cursorOf({ status: 'Enabled', limit: 2 });
    const next = readPageRequest({ limit: 3, status: 'Enabled', cursor }, 'stores');
    assert.deepEqual(next, { limit: 3, after: key });
  });

  it('ends with null', () => {
    assert.deepEqual(pageResponse({ items: [1, 2] }, {}, 'stores'), {
      items: [1, 2],
      nextCursor: null,
    });
  });

  it('accepts the same filters in any order, and no others', () => {
    const cursor = cursorOf({ a: 1, b: 2 });
    assert.equal(readPageRequest({ b: 2, a: 1, cursor }, 'stores').after, key);
    for (const query of [{ a: 1 }, { a: 1, b: 3 }, { a: 1, b: 2, c: 3 }]) {
      assert.throws(() => readPageRequest({ ...query, cursor }, 'stores'), isRefused);
    }
  });

  it('rejects a cursor of another list and a key in another format', () => {
    assert.throws(() => readPageRequest({ cursor: cursorOf({}) }, 'merchants'), isRefused);
    const cursor = cursorOf({}, 'stores', "x' OR 1=1");
    assert.throws(() => readPageRequest({ cursor }, 'stores'), isRefused);
    assert.equal(readPageRequest({ cursor: cursorOf({}, 'n', '17') }, 'n', /^\d+$/).after, '17');
  });

  it('rejects any other text as a cursor', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map(encoded)), (cursor) => {
        assert.throws(() => readPageRequest({ cursor }, 'stores'), isRefused);
      }),
    );
  });
});

const encoded = (text: string) => Buffer.from(text).toString('base64url');
