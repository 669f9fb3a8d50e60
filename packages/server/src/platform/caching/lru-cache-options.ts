// How many entries an LRUCache may hold, without the places for all of them being made at once.

/**
 * `max` has the library make lists of that length when the cache is made: those of a whole platform were
 * 15 MB that mostly stay empty, and that each collection of the heap walks through. By size it grows.
 *
 * @example const owners = new LRUCache<string, string>(atMost(50_000));
 */
export const lruCacheOptions = (maxEntries: number) => ({
  maxSize: maxEntries,
  sizeCalculation: () => 1,
});
