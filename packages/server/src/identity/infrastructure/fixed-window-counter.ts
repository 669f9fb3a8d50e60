// Counts by key within a window of time: bounded, and without timers, which would keep their requests alive.

/** Whole seconds to wait, or undefined where it may go on. */
export type SecondsToWait = number | undefined;

export type FixedWindowCounter = {
  /** Counts one more, unless the key has had its number already. */
  increment(key: string): SecondsToWait;
  /** The same without counting. */
  check(key: string): SecondsToWait;
  /** One that was counted does not count after all. */
  decrement(key: string): void;
};

export type FixedWindowCounterOptions = {
  readonly limit: number;
  readonly windowSeconds: number;
  /** Keys beyond these share one place. */
  readonly maxKeys?: number;
  /** Milliseconds that never go back; for tests. */
  nowMs?(): number;
};

type Window = { count: number; readonly endsMs: number };

const defaultMaxKeys = 65_536;
const overflowKey = '';
/** For each that is counted as many old ones go: those that are over cannot pile up. */
const maxClearedPerCount = 2;

/** The window of a key begins when it is counted first, and the oldest stand first in the map. */
export function createFixedWindowCounter(options: FixedWindowCounterOptions): FixedWindowCounter {
  const {
    limit,
    windowSeconds,
    maxKeys = defaultMaxKeys,
    nowMs = () => performance.now(),
  } = options;
  const windows = new Map<string, Window>();

  function deleteEnded(now: number): void {
    let checked = 0;
    for (const [key, { endsMs }] of windows) {
      if (endsMs > now || checked >= maxClearedPerCount) return;
      windows.delete(key);
      checked += 1;
    }
  }

  function openWindow(key: string, now: number): Window | undefined {
    const window = windows.get(key);
    return window !== undefined && window.endsMs > now ? window : undefined;
  }

  /** What is over makes room at the end, where its next window belongs. */
  function startWindow(key: string, now: number): Window {
    windows.delete(key);
    const made = { count: 0, endsMs: now + windowSeconds * 1000 };
    windows.set(key, made);
    return made;
  }

  const waitFor = ({ endsMs }: Window, now: number) =>
    Math.max(1, Math.ceil((endsMs - now) / 1000));
  const windowKeyOf = (key: string) =>
    windows.has(key) || windows.size < maxKeys ? key : overflowKey;

  return {
    increment(key) {
      const now = nowMs();
      deleteEnded(now);
      const windowKey = windowKeyOf(key);
      const window = openWindow(windowKey, now) ?? startWindow(windowKey, now);
      if (window.count >= limit) return waitFor(window, now);
      window.count += 1;
      return undefined;
    },
    check(key) {
      const now = nowMs();
      const window = openWindow(windowKeyOf(key), now);
      return window !== undefined && window.count >= limit ? waitFor(window, now) : undefined;
    },
    decrement(key) {
      const window = openWindow(windowKeyOf(key), nowMs());
      if (window !== undefined && window.count > 0) window.count -= 1;
    },
  };
}
