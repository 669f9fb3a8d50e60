// Lists by cursors: a million rows in little memory, pages that go and come back, faults and changes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRowStore, type ReadPage, type RowsPage } from '../src/table/row-store.ts';

const settle = () => new Promise<void>((done) => setImmediate(done));

/** Answers as a platform with so many rows would. */
function platform(rows: number, pageSize = 200) {
  const cursors: (string | undefined)[] = [];
  const read: ReadPage<number> = async (cursor) => {
    cursors.push(cursor);
    const from = Number(cursor ?? 0);
    const items = Array.from({ length: Math.min(pageSize, rows - from) }, (_, at) => from + at);
    const end = from + items.length;
    return { items, nextCursor: end < rows ? String(end) : null };
  };
  return { read, cursors };
}

describe('the rows of a list', () => {
  test('a million rows are scrolled with few pages in memory, and the first rows load again', async () => {
    const { read, cursors } = platform(1_000_000);
    const store = createRowStore(read);
    store.ensureLoaded(0, 40);
    await settle();
    while (store.view().hasMore) {
      const { count } = store.view();
      store.ensureLoaded(count - 40, count - 1);
      await settle();
    }
    assert.equal(store.view().count, 1_000_000);
    assert.equal(store.rowAt(999_999), 999_999);
    assert.equal(store.rowAt(0), undefined, 'what was left long ago is let go of');
    const before = cursors.length;
    store.ensureLoaded(0, 40);
    await settle();
    assert.equal(store.rowAt(7), 7);
    assert.deepEqual(cursors.slice(before), [undefined], 'the page comes by the cursor it had');
    assert.equal(store.view().count, 1_000_000, 'and the list is as long as it was');
  });

  test('pages of any length are read, also empty ones', async () => {
    const pages: RowsPage<string>[] = [
      { items: ['a', 'b'], nextCursor: '1' },
      { items: [], nextCursor: '2' },
      { items: ['c'], nextCursor: null },
    ];
    const store = createRowStore<string>(
      async (cursor) => pages[Number(cursor ?? 0)] ?? { items: [], nextCursor: null },
    );
    for (let round = 0; round < 5; round += 1) {
      store.ensureLoaded(0, 10);
      await settle();
    }
    assert.deepEqual([0, 1, 2, 3].map(store.rowAt), ['a', 'b', 'c', undefined]);
    assert.equal(store.view().hasMore, false);
  });

  test('parallel requests for a page read it once', async () => {
    const { read, cursors } = platform(500);
    const store = createRowStore(read);
    for (let round = 0; round < 10; round += 1) store.ensureLoaded(0, 40);
    await settle();
    assert.equal(cursors.length, 1);
  });

  test('an error is shown, stops loading, and ends with the next retry', async () => {
    const { read, cursors } = platform(500);
    let isDown = true;
    const store = createRowStore<number>((cursor, signal) =>
      isDown ? Promise.reject(new Error('down')) : read(cursor, signal),
    );
    store.ensureLoaded(0, 40);
    await settle();
    assert.match(String(store.view().fault), /down/);
    store.ensureLoaded(0, 40);
    await settle();
    assert.equal(cursors.length, 0);
    isDown = false;
    store.retry();
    await settle();
    assert.equal(store.view().fault, undefined);
    assert.equal(store.rowAt(0), 0);
  });

  test('a response to a request before a reload is ignored', async () => {
    const answers: ((page: RowsPage<string>) => void)[] = [];
    const store = createRowStore<string>(() => new Promise((done) => answers.push(done)));
    store.ensureLoaded(0, 10);
    store.reload();
    answers[1]?.({ items: ['new'], nextCursor: null });
    answers[0]?.({ items: ['old', 'older'], nextCursor: null });
    await settle();
    assert.equal(store.view().count, 1);
    assert.equal(store.rowAt(0), 'new');
  });
});
