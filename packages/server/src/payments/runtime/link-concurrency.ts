// Bounds how much of a batch is under way at once over each acquirer link, and how fast it goes.
import { type Clock, pause } from '../../platform/index.ts';

export type BatchPlaces = {
  /** Waits for a place on the link; it is left by calling what it gives. */
  enter(linkId: string): Promise<() => void>;
};

/** @example const leave = await places.enter(linkId); */
export function createBatchPlaces(perLink: number): BatchPlaces {
  const links = new Map<string, { taken: number; waiting: (() => void)[] }>();

  function leave(linkId: string): void {
    const link = links.get(linkId);
    if (link === undefined) return;
    // A place goes from hand to hand, so nobody overtakes those who wait.
    const next = link.waiting.shift();
    if (next === undefined) link.taken -= 1;
    else next();
    if (link.taken === 0) links.delete(linkId);
  }

  return {
    async enter(linkId) {
      const link = links.get(linkId) ?? { taken: 0, waiting: [] };
      links.set(linkId, link);
      if (link.taken < perLink) link.taken += 1;
      else await new Promise<void>((resolve) => link.waiting.push(resolve));
      return () => leave(linkId);
    },
  };
}

/** Of many links at the slowest pace; who would wait longer waits behind a clock that was set back. */
const longestWaitMs = 20_000;
/** At 1,250 a second 25 go at once: about as many as a statement of the store writes together. */
const groupEveryMs = 20;

/**
 * Spreads work over small groups: what goes at once is committed at once, which costs the database
 * half, and a group is small enough that nobody at a till feels it.
 *
 * @param perSecond may be another number at each turn
 * @returns waits for the next turn
 */
export function createPace(clock: Clock, perSecond: () => number): () => Promise<void> {
  let nextAt = 0;
  return async () => {
    const now = clock.now();
    const turnAt = nextAt - now > longestWaitMs ? now : Math.max(now, nextAt);
    nextAt = turnAt + 1000 / perSecond();
    const goAt = Math.ceil(turnAt / groupEveryMs) * groupEveryMs;
    if (goAt > now) await pause(goAt - now);
  };
}
