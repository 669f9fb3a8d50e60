// Chance that can be run again: the same numbers for the same seed.

export type Chance = {
  /** 0 to `limit` - 1. */
  below(limit: number): number;
  pick<Of>(list: readonly Of[]): Of;
};

/** mulberry32, as small as it is good enough for tests. */
export function randomFrom(seed: number): Chance {
  let state = seed >>> 0;
  function below(limit: number): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
  return {
    below,
    pick<Of>(list: readonly Of[]) {
      return list[below(list.length)] as Of;
    },
  };
}
