// Chooses how fast captures of a batch go: as fast as the sales beside them bear.
import type { Clock } from '../../platform/index.ts';

export type CaptureRate = {
  /** Captures a second at this moment. */
  perSecond(): number;
  /** A write of a sale took so long, its wait for a statement in it. */
  note(ms: number): void;
};

/** 100,000 captures in 80 seconds. */
export const capturesPerSecondMost = 1250;
/** Even beside sales that suffer a night’s batch ends by itself. */
export const capturesPerSecondLeast = 100;
/** A batch comes up to its pace within seconds, and is not felt before anybody has looked. */
const firstShare = 0.5;
const lookEveryMs = 500;
/** Sales write twice; at rest a write takes a few milliseconds. */
const slowMs = 30;
/** Of so many slow writes in a hundred on the captures give way, and of so few they go faster. */
const tooManySlow = 0.05;
const fewSlow = 0.01;
const slower = 0.7;
const faster = 1.15;

/** @example const rate = createCaptureRate(clock); const pace = createPace(clock, rate.perSecond); */
export function createCaptureRate(clock: Clock): CaptureRate {
  let rate = capturesPerSecondMost * firstShare;
  let writes = 0;
  let slowWrites = 0;
  let lookAt = 0;

  function look(now: number): void {
    const share = writes === 0 ? 0 : slowWrites / writes;
    if (share > tooManySlow) rate = Math.max(capturesPerSecondLeast, rate * slower);
    else if (share <= fewSlow) rate = Math.min(capturesPerSecondMost, rate * faster);
    writes = 0;
    slowWrites = 0;
    lookAt = now + lookEveryMs;
  }

  return {
    perSecond() {
      const now = clock.now();
      // Also where the clock was set back: nobody waits for a moment that was long ago.
      if (now >= lookAt || lookAt - now > lookEveryMs) look(now);
      return rate;
    },
    note(ms) {
      writes += 1;
      if (ms > slowMs) slowWrites += 1;
    },
  };
}
