// Says which of thousands of streams something is due for, by one look along a row of numbers.

/** A place in the row. */
export type Due = {
  /** When to look after it next; what was said before counts no more. */
  at(ms: number): void;
  end(): void;
};

export type Ticks = {
  /** @example const due = ticks.add(() => stream.tick()); due.at(nowMs() + 1000); */
  add(tick: () => void): Due;
  /** Looks after those whose time has come. */
  run(nowMs: number): void;
};

const firstPlaces = 64;
const never = Number.POSITIVE_INFINITY;

/**
 * To ask each stream whether it is time yet touches what each of them holds, twice a second; their times
 * side by side are forty kilobytes for five thousand.
 */
export function createTicks(): Ticks {
  let due = new Float64Array(firstPlaces).fill(never);
  const ticks: ((() => void) | undefined)[] = [];
  const free: number[] = [];

  function takePlace(): number {
    const place = free.pop() ?? ticks.length;
    if (place < due.length) return place;
    const wider = new Float64Array(due.length * 2).fill(never);
    wider.set(due);
    due = wider;
    return place;
  }

  return {
    add(tick) {
      const place = takePlace();
      let isOver = false;
      ticks[place] = tick;
      return {
        at(ms) {
          if (!isOver) due[place] = ms;
        },
        end() {
          if (isOver) return;
          isOver = true;
          due[place] = never;
          ticks[place] = undefined;
          free.push(place);
        },
      };
    },
    run(nowMs) {
      // One that is added meanwhile takes a place before the end, or has its turn the next time.
      const { length } = ticks;
      for (let place = 0; place < length; place += 1) {
        if ((due[place] ?? never) <= nowMs) ticks[place]?.();
      }
    },
  };
}
