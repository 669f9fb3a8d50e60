// Chance that can be had again: the same seed and number give the same input, whatever came before.

export type Chance = {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** True once in so many times. */
  oneIn(times: number): boolean;
  pick<Item>(from: readonly Item[]): Item;
};

const golden = 0x9e3779b9;

/** Well mixed bits of a number (the finaliser of MurmurHash3). */
function mixed(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** The chance of one input; fast, since there are millions of them. */
export function chanceOf(seed: number, number: number): Chance {
  let state = mixed(mixed(seed | 0) ^ Math.imul(number + 1, golden));
  const below = (limit: number): number => {
    state = (state + golden) | 0;
    return (mixed(state) >>> 0) % limit;
  };
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
  };
}
