/** Determines the rows to render and the space around them, and loads missing rows. */
import { useMediaQuery } from '@mantine/hooks';
import { type RefObject, useEffect, useLayoutEffect, useReducer, useRef } from 'react';
import { flushSync } from 'react-dom';
import type { RowStore, RowsView } from './row-store.ts';
import { type RowRange, visibleRange } from './visible-rows.ts';

const rowHeight = 33;
const cardHeight = 65;
/** Chromium limits the height of elements. */
const tallest = 33_000_000;
/** Used before the box is measured. */
const heightAtFirst = 800;

type VisibleRows = RowRange & {
  /** The height of the rows before and after, in pixels. */
  readonly before: number;
  readonly after: number;
  onScroll(): void;
  scrollBy(rows: number): void;
};

export function useVisibleRows<Row>(
  store: RowStore<Row>,
  view: RowsView,
  box: RefObject<HTMLDivElement | null>,
): VisibleRows {
  const height = useIsNarrow() ? cardHeight : rowHeight;
  const waiting = view.count === 0 ? 12 : 3;
  const knownCount = view.count + (view.hasMore && view.fault === undefined ? waiting : 0);
  const count = Math.min(knownCount, Math.floor(tallest / height));
  /** The box is absent while the table shows no rows or an error. */
  const hasBox = knownCount > 0;
  const [, draw] = useReducer((times: number) => times + 1, 0);
  const frame = () => ({
    scrollTop: store.scrollTop,
    clientHeight: box.current?.clientHeight ?? heightAtFirst,
    height,
    count,
  });
  const sight = visibleRange(frame());
  const { first, last } = sight;
  const drawn = useRef(sight);
  drawn.current = sight;

  /** Renders if the visible rows have changed. */
  const redrawIfMoved = useRef(() => {});
  redrawIfMoved.current = () => {
    const next = visibleRange(frame());
    if (next.first === drawn.current.first && next.last === drawn.current.last) return;
    draw();
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is held changes with the version
  useEffect(
    () => store.ensureLoaded(first, Math.max(first, last)),
    [store, first, last, view.version],
  );
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
      // Renders in the same frame; later the rows would be missing.
      flushSync(() => redrawIfMoved.current());
    },
    scrollBy(rows) {
      box.current?.scrollBy({ top: rows * height });
    },
  };
}

function useIsNarrow(): boolean {
  return useMediaQuery('(max-width: 48rem)', false, { getInitialValueInEffect: false });
}
