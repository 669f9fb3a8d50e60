// Fixed-window counters by key: bounded in memory, and without timers.

/** Whole seconds until the next attempt; undefined if the attempt is allowed. */
export type SecondsToWait = number | undefined;

export type FixedWindowCounter = {
  /** Counts one attempt unless the key has reached its limit. */
  increment(key: string): SecondsToWait;
  /** The same, without counting the attempt. */
  check(key: string): SecondsToWait;
  /** Takes back one counted attempt. */
  decrement(key: string): void;
};

export type FixedWindowCounterOptions = {
  readonly limit: number;
  readonly windowSeconds: number;
  /** Above this number of keys, further keys share one counter. */
  readonly maxKeys?: number;
  /** Monotonic milliseconds; for tests. */
  nowMs?(): number;
};

type Window = { count: number; readonly endsMs: number };

const defaultMaxKeys = 65_536;
const overflowKey = '';
/** Each counted attempt deletes up to this many ended windows, so that they do not accumulate. */
const maxClearedPerCount = 2;

/** The window of a key starts at its first attempt; the map holds the oldest windows first. */
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

  /** Deletes the ended window first, so that the new one is inserted at the end of the map. */
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
