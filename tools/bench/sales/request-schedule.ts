// When requests are due: as independent callers come, whether or not earlier ones were answered.

/** Numbers from 0 up to but not including 1, the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Due times of a Poisson process, in ms after its start; each call gives the next one.
 *
 * @param ratePerSecond how many arrivals a second on average
 */
export function createArrivalTimes(ratePerSecond: number, random: () => number): () => number {
  const meanGapMs = 1000 / ratePerSecond;
  let dueMs = 0;
  return () => {
    dueMs += -Math.log(1 - random()) * meanGapMs;
    return dueMs;
  };
}
