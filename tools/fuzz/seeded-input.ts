// Repeatable random input: the same seed and number give the same input.

export type SeededRandom = {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** True once in so many times. */
  oneIn(times: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
};

const goldenRatio = 0x9e3779b9;

/** Well mixed bits of a number (the finaliser of MurmurHash3). */
function mixBits(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** The chance of one input; fast, since there are millions of them. */
export function randomForInput(seed: number, number: number): SeededRandom {
  let state = mixBits(mixBits(seed | 0) ^ Math.imul(number + 1, goldenRatio));
  const below = (limit: number): number => {
    state = (state + goldenRatio) | 0;
    return (mixBits(state) >>> 0) % limit;
  };
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
  };
}
