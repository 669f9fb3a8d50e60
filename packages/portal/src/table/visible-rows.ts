/**
 * Calculates the visible rows of equal height. A virtualiser that measures each row takes about a
 * second for a million rows.
 */
export type RowRange = { readonly first: number; readonly last: number };

export type ScrollFrame = {
  /** Scroll position and height of the box, in pixels. */
  readonly scrollTop: number;
  readonly clientHeight: number;
  /** The height of a row, in pixels. */
  readonly height: number;
  readonly count: number;
};

/** Rows rendered before and after the visible rows. */
const overscanRows = 12;

/**
 * @example visibleRange({ scrollTop: 3300, clientHeight: 660, height: 33, count: 1_000_000 }); //
 * 88 to 132
 */
export function visibleRange({ scrollTop, clientHeight, height, count }: ScrollFrame): RowRange {
  const last = Math.min(count - 1, Math.ceil((scrollTop + clientHeight) / height) + overscanRows);
  const first = Math.max(0, Math.min(Math.floor(scrollTop / height) - overscanRows, last));
  return { first, last };
}
