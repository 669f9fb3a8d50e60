// Limits the concurrency and the rate of batch work for each acquirer link.
import { type Clock, pause } from '../../platform/index.ts';

/** @example const release = await concurrency.acquire(linkId); */
export function createLinkConcurrency(limitPerLink: number) {
  const links = new Map<string, { activeCount: number; waiting: (() => void)[] }>();

  function release(linkId: string): void {
    const link = links.get(linkId);
    if (link === undefined) return;
    // The slot passes to the first waiting task, so tasks keep their order.
    const next = link.waiting.shift();
    if (next === undefined) link.activeCount -= 1;
    else next();
    if (link.activeCount === 0) links.delete(linkId);
  }

  return {
    /** Waits for a slot of the link. The returned function releases it. */
    async acquire(linkId: string): Promise<() => void> {
      const link = links.get(linkId) ?? { activeCount: 0, waiting: [] };
      links.set(linkId, link);
      if (link.activeCount < limitPerLink) link.activeCount += 1;
      else await new Promise<void>((resolve) => link.waiting.push(resolve));
      return () => release(linkId);
    },
  };
}

/** Above the longest regular wait: a longer one means that the clock was set back. */
const maxWaitMs = 20_000;
/** At 1,250 per second one group has 25 items, about the size of one group commit. */
const groupIntervalMs = 20;

/** The returned function waits for the next slot. Items leave in small groups that share a group commit. */
export function createPacer(clock: Clock, perSecond: () => number): () => Promise<void> {
  let nextSlotAt = 0;
  return async () => {
    const now = clock.now();
    const slotAt = nextSlotAt - now > maxWaitMs ? now : Math.max(now, nextSlotAt);
    nextSlotAt = slotAt + 1000 / perSecond();
    const startAt = Math.ceil(slotAt / groupIntervalMs) * groupIntervalMs;
    if (startAt > now) await pause(startAt - now);
  };
}
