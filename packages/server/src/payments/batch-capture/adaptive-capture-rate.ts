// Adaptive rate of batch captures: slow sale writes reduce the rate.
import type { Clock } from '../../platform/index.ts';

/** 100,000 captures in 80 seconds. */
export const maxCapturesPerSecond = 1250;
/** A nightly batch completes even while sale writes are slow. */
export const minCapturesPerSecond = 100;
const initialShare = 0.5;
const evaluationIntervalMs = 500;
/** Each sale writes twice; an idle database needs a few milliseconds for a write. */
const slowWriteMs = 30;
const slowShareToDecrease = 0.05;
const slowShareToIncrease = 0.01;
const decreaseFactor = 0.7;
const increaseFactor = 1.15;

/** @example const rate = createCaptureRate(clock); const waitForSlot = createPacer(clock, rate.perSecond); */
export function createCaptureRate(clock: Clock) {
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
    /** Captures a second at this moment. */
    perSecond(): number {
      const now = clock.now();
      // A clock that was set back must not delay the next evaluation.
      if (now >= nextEvaluationAt || nextEvaluationAt - now > evaluationIntervalMs) evaluate(now);
      return rate;
    },
    /** @param ms duration of a write of a sale, with its wait for a connection */
    recordWrite(ms: number): void {
      writes += 1;
      if (ms > slowWriteMs) slowWrites += 1;
    },
  };
}
