// Which rows of a list are drawn: those in sight and a few around them, at any length.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { visibleRange } from '../src/table/visible-rows.ts';

describe('the visible rows', () => {
  test('the range at the top, in the middle and at the end of a million rows', () => {
    const viewport = { clientHeight: 660, height: 33, count: 1_000_000 };
    assert.deepEqual(visibleRange({ ...viewport, scrollTop: 0 }), { first: 0, last: 32 });
    assert.deepEqual(visibleRange({ ...viewport, scrollTop: 3300 }), { first: 88, last: 132 });
    const end = 33 * 1_000_000 - 660;
    assert.deepEqual(visibleRange({ ...viewport, scrollTop: end }), {
      first: 999_968,
      last: 999_999,
    });
  });

  test('an empty list has no range, and a shortened list shows its end', () => {
    const viewport = { clientHeight: 660, height: 33 };
    assert.deepEqual(visibleRange({ ...viewport, scrollTop: 0, count: 0 }), { first: 0, last: -1 });
    assert.deepEqual(visibleRange({ ...viewport, scrollTop: 33_000, count: 10 }), {
      first: 9,
      last: 9,
    });
  });

  test('all visible rows are rendered, and only few more', () => {
    const frame = fc.record({
      scrollTop: fc.nat(33_000_000),
      clientHeight: fc.integer({ min: 1, max: 4000 }),
      height: fc.constantFrom(33, 65),
      count: fc.nat(1_000_000),
    });
    fc.assert(
      fc.property(frame, (viewport) => {
        const { first, last } = visibleRange(viewport);
        for (const y of [viewport.scrollTop, viewport.scrollTop + viewport.clientHeight - 1]) {
          const row = Math.floor(y / viewport.height);
          if (row < viewport.count) assert.ok(row >= first && row <= last, `row ${row}`);
        }
        assert.ok(last < viewport.count);
        assert.ok(last - first <= viewport.clientHeight / viewport.height + 27);
      }),
    );
  });
});
