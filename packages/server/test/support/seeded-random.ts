// Random numbers for tests; the same seed gives the same numbers.

export type SeededRandom = {
  /** A number from 0 to `limit` - 1. */
  below(limit: number): number;
  pick<Of>(list: readonly Of[]): Of;
};

/** The mulberry32 generator, which is small and good enough for tests. */
export function createSeededRandom(seed: number): SeededRandom {
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
