// Limits the concurrency and the rate of batch work for each acquirer link.
import { type Clock, pause } from '../../platform/index.ts';

export type LinkConcurrency = {
  /** Waits for a place on the link; it is left by calling what it gives. */
  acquire(linkId: string): Promise<() => void>;
};

/** @example const leave = await places.enter(linkId); */
export function createLinkConcurrency(limitPerLink: number): LinkConcurrency {
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
    async acquire(linkId) {
      const link = links.get(linkId) ?? { activeCount: 0, waiting: [] };
      links.set(linkId, link);
      if (link.activeCount < limitPerLink) link.activeCount += 1;
      else await new Promise<void>((resolve) => link.waiting.push(resolve));
      return () => release(linkId);
    },
  };
}

/** Of many links at the slowest pace; who would wait longer waits behind a clock that was set back. */
const maxWaitMs = 20_000;
/** At 1,250 a second 25 go at once: about as many as a statement of the store writes together. */
const groupIntervalMs = 20;

/**
 * Spreads work over small groups: what goes at once is committed at once, which costs the database
 * half, and a group is small enough that nobody at a till feels it.
 *
 * @param perSecond may be another number at each turn
 * @returns waits for the next turn
 */
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
