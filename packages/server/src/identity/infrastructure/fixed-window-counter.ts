// Counts by key within a window of time: bounded, and without timers, which would keep their requests alive.

/** Whole seconds to wait, or undefined where it may go on. */
export type Wait = number | undefined;

export type Counter = {
  /** Counts one more, unless the key has had its number already. */
  take(key: string): Wait;
  /** The same without counting. */
  look(key: string): Wait;
  /** One that was counted does not count after all. */
  giveBack(key: string): void;
};

export type CounterOptions = {
  readonly limit: number;
  readonly windowSeconds: number;
  /** Keys beyond these share one place. */
  readonly keysMax?: number;
  /** Milliseconds that never go back; for tests. */
  nowMs?(): number;
};

type Window = { count: number; readonly endsMs: number };

const defaultKeysMax = 65_536;
const others = '';
/** For each that is counted as many old ones go: those that are over cannot pile up. */
const clearedAtOnce = 2;

/** The window of a key begins when it is counted first, and the oldest stand first in the map. */
export function createCounter(options: CounterOptions): Counter {
  const {
    limit,
    windowSeconds,
    keysMax = defaultKeysMax,
    nowMs = () => performance.now(),
  } = options;
  const windows = new Map<string, Window>();

  function clearOld(now: number): void {
    let looked = 0;
    for (const [key, { endsMs }] of windows) {
      if (endsMs > now || looked >= clearedAtOnce) return;
      windows.delete(key);
      looked += 1;
    }
  }

  function standing(key: string, now: number): Window | undefined {
    const window = windows.get(key);
    return window !== undefined && window.endsMs > now ? window : undefined;
  }

  /** What is over makes room at the end, where its next window belongs. */
  function begin(key: string, now: number): Window {
    windows.delete(key);
    const made = { count: 0, endsMs: now + windowSeconds * 1000 };
    windows.set(key, made);
    return made;
  }

  const waitFor = ({ endsMs }: Window, now: number) =>
    Math.max(1, Math.ceil((endsMs - now) / 1000));
  const placeOf = (key: string) => (windows.has(key) || windows.size < keysMax ? key : others);

  return {
    take(key) {
      const now = nowMs();
      clearOld(now);
      const place = placeOf(key);
      const window = standing(place, now) ?? begin(place, now);
      if (window.count >= limit) return waitFor(window, now);
      window.count += 1;
      return undefined;
    },
    look(key) {
      const now = nowMs();
      const window = standing(placeOf(key), now);
      return window !== undefined && window.count >= limit ? waitFor(window, now) : undefined;
    },
    giveBack(key) {
      const window = standing(placeOf(key), nowMs());
      if (window !== undefined && window.count > 0) window.count -= 1;
    },
  };
}
