// A clock that moves only when a test advances it, and that lists the pending waits.
import type { Clock } from '../clock.ts';

export type SteppedClock = Clock & {
  /** Moves the time forward and resolves the waits that are due. */
  advance(ms: number): void;
  /** The remaining time of each pending wait, the shortest first. */
  waits(): number[];
};

export function steppedClock(startAt = 1_800_000_000_000): SteppedClock {
  let now = startAt;
  const waiting = new Set<{ readonly until: number; wake(): void }>();
  return {
    now: () => now,
    wait(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const one = {
          until: now + ms,
          wake() {
            waiting.delete(one);
            resolve();
          },
        };
        waiting.add(one);
        signal?.addEventListener('abort', one.wake);
      });
    },
    advance(ms) {
      now += ms;
      for (const one of [...waiting]) if (one.until <= now) one.wake();
    },
    waits: () => [...waiting].map(({ until }) => until - now).toSorted((a, b) => a - b),
  };
}
