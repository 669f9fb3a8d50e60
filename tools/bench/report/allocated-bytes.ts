// How much a process allocated on its JavaScript heap, from the heap sizes around each garbage collection.

/** Heap sizes in bytes. */
export type Collection = { usedBefore: number; usedAfter: number };

/** The growth of the heap between the collections, with the times before the first and after the last one. */
export function allocatedBytes(
  usedAtBegin: number,
  collections: readonly Collection[],
  usedAtEnd: number,
): number {
  const starts = [usedAtBegin, ...collections.map(({ usedAfter }) => usedAfter)];
  const ends = [...collections.map(({ usedBefore }) => usedBefore), usedAtEnd];
  return ends.reduce((sum, end, index) => sum + end - (starts[index] ?? end), 0);
}
