// Options for an LRUCache that does not allocate memory for all entries in advance.

/**
 * With `max` the library allocates arrays of that length at once: 15 MB in one process, which each
 * garbage collection then scans. With a size limit the arrays grow.
 *
 * @example const owners = new LRUCache<string, string>(lruCacheOptions(50_000));
 */
export const lruCacheOptions = (maxEntries: number) => ({
  maxSize: maxEntries,
  sizeCalculation: () => 1,
});
