/** Which rows there are to draw, and the space before and after them; fetches what is lacking. */
import { type RefObject, useEffect, useLayoutEffect, useReducer, useRef } from 'react';
import { flushSync } from 'react-dom';
import type { RowStore, RowsView } from './row-store.ts';
import { useIsNarrow } from './use-is-narrow.ts';
import { type Sight, sightOf } from './visible-rows.ts';

const rowHeight = 33;
const cardHeight = 65;
/** Chromium cuts boxes off above this height. */
const tallest = 33_000_000;
/** Before the box has been measured. */
const heightAtFirst = 800;

export type RowsInSight = Sight & {
  /** The space that the rows before and after take, px. */
  readonly before: number;
  readonly after: number;
  onScroll(): void;
  scrollBy(rows: number): void;
};

export function useRowsInSight<Row>(
  store: RowStore<Row>,
  view: RowsView,
  box: RefObject<HTMLDivElement | null>,
): RowsInSight {
  const height = useIsNarrow() ? cardHeight : rowHeight;
  const waiting = view.count === 0 ? 12 : 3;
  const knownCount = view.count + (view.hasMore && view.fault === undefined ? waiting : 0);
  const count = Math.min(knownCount, Math.floor(tallest / height));
  /** The box comes and goes with what stands in its place: nothing found, or a fault. */
  const hasBox = knownCount > 0;
  const [, draw] = useReducer((times: number) => times + 1, 0);
  const frame = () => ({
    scrollTop: store.scrollTop,
    clientHeight: box.current?.clientHeight ?? heightAtFirst,
    height,
    count,
  });
  const sight = sightOf(frame());
  const { first, last } = sight;
  const drawn = useRef(sight);
  drawn.current = sight;

  /** Draws where other rows are in sight than those that are drawn. */
  const redrawIfMoved = useRef(() => {});
  redrawIfMoved.current = () => {
    const next = sightOf(frame());
    if (next.first === drawn.current.first && next.last === drawn.current.last) return;
    draw();
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is held changes with the version
  useEffect(() => store.ensure(first, Math.max(first, last)), [store, first, last, view.version]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!hasBox || element === null) return;
    element.scrollTop = store.scrollTop;
    const sized = new ResizeObserver(() => redrawIfMoved.current());
    sized.observe(element);
    return () => sized.disconnect();
  }, [store, box, hasBox]);

  return {
    ...sight,
    before: first * height,
    after: Math.max(0, (count - 1 - last) * height),
    onScroll() {
      store.scrollTop = box.current?.scrollTop ?? 0;
      // Within the frame that scrolls: later there would be nothing where the rows should be.
      flushSync(() => redrawIfMoved.current());
    },
    scrollBy(rows) {
      box.current?.scrollBy({ top: rows * height });
    },
  };
}
