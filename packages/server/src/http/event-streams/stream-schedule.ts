// Schedules the next tick of thousands of streams in one array of times.

/** The entry of one stream. */
export type ScheduledTick = {
  /** Sets the time of the next tick and replaces the previous time. */
  setNext(ms: number): void;
  end(): void;
};

export type StreamSchedule = {
  /** @example const scheduled = schedule.add(() => stream.tick()); scheduled.setNext(nowMs() + 1000); */
  add(tick: () => void): ScheduledTick;
  /** Runs the ticks that are due. */
  run(nowMs: number): void;
};

const initialCapacity = 64;
const never = Number.POSITIVE_INFINITY;

/**
 * Checking every stream object twice a second is slow; five thousand times in one array are forty
 * kilobytes.
 */
export function createStreamSchedule(): StreamSchedule {
  let nextTimes = new Float64Array(initialCapacity).fill(never);
  const ticks: ((() => void) | undefined)[] = [];
  const freeIndexes: number[] = [];

  function takeIndex(): number {
    const index = freeIndexes.pop() ?? ticks.length;
    if (index < nextTimes.length) return index;
    const wider = new Float64Array(nextTimes.length * 2).fill(never);
    wider.set(nextTimes);
    nextTimes = wider;
    return index;
  }

  return {
    add(tick) {
      const index = takeIndex();
      let isOver = false;
      ticks[index] = tick;
      return {
        setNext(ms) {
          if (!isOver) nextTimes[index] = ms;
        },
        end() {
          if (isOver) return;
          isOver = true;
          nextTimes[index] = never;
          ticks[index] = undefined;
          freeIndexes.push(index);
        },
      };
    },
    run(nowMs) {
      // A stream that is added during the loop gets a free index below, or runs in the next round.
      const { length } = ticks;
      for (let index = 0; index < length; index += 1) {
        if ((nextTimes[index] ?? never) <= nowMs) ticks[index]?.();
      }
    },
  };
}
