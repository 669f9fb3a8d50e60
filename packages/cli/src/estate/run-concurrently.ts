/** Does many things, a few at a time, and begins nothing new once it is told to stop. */
import { CommandFault } from '../runtime/command-error.ts';

const atOnceMax = 8;

export async function atOnce<Item>(
  items: readonly Item[],
  stopping: AbortSignal,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function go(): Promise<void> {
    while (next < items.length) {
      if (stopping.aborted) throw new CommandFault('interrupted', 'Interrupted.');
      const index = next;
      next += 1;
      await work(items[index] as Item, index);
    }
  }
  // All of them end before a fault is told: nothing goes on behind the back of what comes after.
  const ends = await Promise.allSettled(
    Array.from({ length: Math.min(atOnceMax, items.length) }, go),
  );
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
