import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkListing } from './estate-listing.ts';

/** A list of two pages, as a server would give it. */
function listOf(pages: readonly (readonly string[])[]) {
  return {
    async call(_method: string, path: string) {
      const at = Number(/cursor=(\d+)/.exec(path)?.[1] ?? 0);
      const items = (pages[at] ?? []).map((logicalDeviceId) => ({ logicalDeviceId }));
      return { items, nextCursor: at + 1 < pages.length ? String(at + 1) : null };
    },
  };
}

const nothingAdded = () => new Promise((resolve) => setImmediate(resolve));

test('a complete listing contains every device once', async () => {
  const walk = await walkListing(listOf([['a', 'b'], ['c']]), ['a', 'b', 'c'], nothingAdded);
  assert.deepEqual(
    [walk.pages, walk.listed, walk.before, walk.doubled, walk.missed],
    [2, 3, 3, 0, 0],
  );
  assert.ok(walk.added > 0);
});

test('duplicate and missing devices are counted', async () => {
  const walk = await walkListing(listOf([['a', 'b'], ['b']]), ['a', 'b', 'c'], nothingAdded);
  assert.deepEqual([walk.doubled, walk.missed], [1, 1]);
});
