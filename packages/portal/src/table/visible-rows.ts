/**
 * Which rows of one height are in sight: arithmetic, whatever the length of the list. (A virtualizer that
 * measures each row keeps an entry of every one, and makes all of them anew with each page that comes: at a
 * million rows that is a stall of a second.)
 */
export type Sight = { readonly first: number; readonly last: number };

export type Frame = {
  /** How far the box is scrolled and how high it is, px. */
  readonly scrollTop: number;
  readonly clientHeight: number;
  /** Of a row, px. */
  readonly height: number;
  readonly count: number;
};

/** Rows before and after those in sight, which are there when somebody scrolls on. */
const beyond = 12;

/** @example sightOf({ scrollTop: 3300, clientHeight: 660, height: 33, count: 1_000_000 }); // 88 to 132 */
export function sightOf({ scrollTop, clientHeight, height, count }: Frame): Sight {
  const last = Math.min(count - 1, Math.ceil((scrollTop + clientHeight) / height) + beyond);
  const first = Math.max(0, Math.min(Math.floor(scrollTop / height) - beyond, last));
  return { first, last };
}
