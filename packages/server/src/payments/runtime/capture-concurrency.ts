// Limits the concurrency and the rate of batch work for each acquirer link.
import { type Clock, pause } from '../../platform/index.ts';

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
