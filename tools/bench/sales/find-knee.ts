// Looks for the knee: the highest rate that is held. Rising steps first, then halving the gap.

/** What a step must show to count as held. */
export const heldLimits = { achievedShare: 0.98, p99Us: 50_000 };

export type StepFigures = {
  offeredPerSecond: number;
  achievedPerSecond: number;
  p99Us: number;
  errors: number;
};

/** Held: nearly all that was due was answered in its time, the slow ones quickly enough, all well. */
export function isRateHeld(step: StepFigures): boolean {
  return (
    step.errors === 0 &&
    step.achievedPerSecond >= step.offeredPerSecond * heldLimits.achievedShare &&
    step.p99Us < heldLimits.p99Us
  );
}

export type KneeOptions = {
  /** The first rate, requests a second. */
  from: number;
  /** Each step offers this much more than the one before. */
  growth?: number;
  /** The search ends when the gap is at most this share of the held rate. */
  precision?: number;
  /** Where this rate is not held, nothing is: the search ends. */
  least?: number;
  stepsMax?: number;
};

export type KneeSearch = {
  /** The next rate to try, or undefined when the knee is found. */
  next(): number | undefined;
  report(rate: number, isHeld: boolean): void;
  /** The highest rate that was held; 0 before there is one. */
  highestHeldRate(): number;
};

/**
 * A failed step is repeated once before it counts, because on a shared machine a pause of another
 * process can fail a step. The rate is halved until a rate succeeds. At the end the lowest rate
 * that failed is tried once more: if it succeeds now, the work of another process had failed it,
 * and the search continues.
 *
 * @example const search = createKneeSearch({ from: 500 });
 */
export function createKneeSearch(options: KneeOptions): KneeSearch {
  const { from, growth = 1.25, precision = 0.04, least = 50, stepsMax = 24 } = options;
  let highestHeld = 0;
  let failed = Number.POSITIVE_INFINITY;
  let doubted: number | undefined;
  /** The failed rate that has failed in the end as well. */
  let confirmed = 0;
  let steps = 0;

  function candidate(): number {
    if (highestHeld === 0) return failed === Number.POSITIVE_INFINITY ? from : failed / 2;
    return failed === Number.POSITIVE_INFINITY ? highestHeld * growth : (highestHeld + failed) / 2;
  }

  return {
    next() {
      if (steps >= stepsMax) return undefined;
      if (doubted !== undefined) return doubted;
      if (highestHeld > 0 && failed - highestHeld <= highestHeld * precision) {
        return confirmed === failed ? undefined : failed;
      }
      const rate = Math.round(candidate());
      return rate >= least ? rate : undefined;
    },
    report(rate, isRateHeld) {
      steps += 1;
      if (isRateHeld) {
        highestHeld = Math.max(highestHeld, rate);
        if (rate >= failed) failed = Number.POSITIVE_INFINITY;
        doubted = undefined;
      } else if (rate === failed) {
        confirmed = rate;
      } else if (doubted === rate) {
        failed = Math.min(failed, rate);
        doubted = undefined;
      } else {
        doubted = rate;
      }
    },
    highestHeldRate: () => highestHeld,
  };
}

/** The middle one of some figures; the mean of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
