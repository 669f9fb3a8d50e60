// Adaptive rate of batch captures: slow sale writes reduce the rate.
import type { Clock } from '../../platform/index.ts';

export type CaptureRate = {
  /** Captures a second at this moment. */
  perSecond(): number;
  /** A write of a sale took so long, its wait for a statement in it. */
  recordWrite(ms: number): void;
};

/** 100,000 captures in 80 seconds. */
export const maxCapturesPerSecond = 1250;
/** Even beside sales that suffer a night’s batch ends by itself. */
export const minCapturesPerSecond = 100;
/** A batch comes up to its pace within seconds, and is not felt before anybody has looked. */
const initialShare = 0.5;
const evaluationIntervalMs = 500;
/** Sales write twice; at rest a write takes a few milliseconds. */
const slowWriteMs = 30;
/** Of so many slow writes in a hundred on the captures give way, and of so few they go faster. */
const slowShareToDecrease = 0.05;
const slowShareToIncrease = 0.01;
const decreaseFactor = 0.7;
const increaseFactor = 1.15;

/** @example const rate = createCaptureRate(clock); const pace = createPace(clock, rate.perSecond); */
export function createCaptureRate(clock: Clock): CaptureRate {
  let rate = maxCapturesPerSecond * initialShare;
  let writes = 0;
  let slowWrites = 0;
  let nextEvaluationAt = 0;

  function evaluate(now: number): void {
    const share = writes === 0 ? 0 : slowWrites / writes;
    if (share > slowShareToDecrease) rate = Math.max(minCapturesPerSecond, rate * decreaseFactor);
    else if (share <= slowShareToIncrease)
      rate = Math.min(maxCapturesPerSecond, rate * increaseFactor);
    writes = 0;
    slowWrites = 0;
    nextEvaluationAt = now + evaluationIntervalMs;
  }

  return {
    perSecond() {
      const now = clock.now();
      // Also where the clock was set back: nobody waits for a moment that was long ago.
      if (now >= nextEvaluationAt || nextEvaluationAt - now > evaluationIntervalMs) evaluate(now);
      return rate;
    },
    recordWrite(ms) {
      writes += 1;
      if (ms > slowWriteMs) slowWrites += 1;
    },
  };
}
