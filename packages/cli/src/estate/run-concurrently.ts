/** Runs an action for many items with limited concurrency; starts no new action after Ctrl+C. */
import { CommandError } from '../runtime/command-error.ts';

const concurrencyMax = 8;

export async function runConcurrently<Item>(
  items: readonly Item[],
  stopping: AbortSignal,
  action: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function runNext(): Promise<void> {
    while (next < items.length) {
      if (stopping.aborted) throw new CommandError('interrupted', 'Interrupted.');
      const index = next;
      next += 1;
      await action(items[index] as Item, index);
    }
  }
  // Waits for all actions before it throws, so that none runs on in the background.
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(concurrencyMax, items.length) }, runNext),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
