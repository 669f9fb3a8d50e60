// Counts events by key in fixed windows: bounded in memory, and without timers.

export type RateStatus = {
  /** Events left in the window; negative if the event exceeds the limit. */
  readonly remaining: number;
  /** Milliseconds until the window of the key ends. */
  readonly resetMs: number;
};

export type RateCounter = {
  /** Counts one event, unless its key has reached the limit. */
  count(key: string): RateStatus;
  /**
   * The status without another event. It ignores the shared count of further keys, because other
   * clients have caused it.
   */
  read(key: string): RateStatus;
  /** Takes back one counted event. */
  uncount(key: string): void;
};

export type RateCounterOptions = {
  readonly limit: number;
  readonly windowSeconds: number;
  /** Above this number of keys, further keys share one count. */
  readonly maxKeys?: number;
  /** Monotonic milliseconds; for tests. */
  nowMs?(): number;
};

type Window = { count: number; readonly endsMs: number };

const defaultMaxKeys = 65_536;
const overflowKey = '';
/** Each event deletes up to this many ended windows, so that they do not accumulate. */
const maxClearedPerCount = 2;
/** Whole milliseconds, since a fraction could round up to one second more. */
const monotonicMs = () => Math.floor(performance.now());

/**
 * The window of a key starts at its first event; the map holds the oldest windows first. The
 * server counts every request, and a package with promises and timers costs ten times as much.
 *
 * @example const requests = createRateCounter({ limit: 200, windowSeconds: 1 }); requests.count(address).remaining;
 */
export function createRateCounter({
  limit,
  windowSeconds,
  maxKeys = defaultMaxKeys,
  nowMs = monotonicMs,
}: RateCounterOptions): RateCounter {
  const windowMs = windowSeconds * 1000;
  const windows = new Map<string, Window>();

  function deleteEnded(now: number): void {
    let deleted = 0;
    for (const [key, { endsMs }] of windows) {
      if (endsMs > now || deleted >= maxClearedPerCount) return;
      windows.delete(key);
      deleted += 1;
    }
  }

  function openWindow(key: string, now: number): Window | undefined {
    const window = windows.get(key);
    return window !== undefined && window.endsMs > now ? window : undefined;
  }

  /** Deletes the ended window first, so that the new one is inserted at the end of the map. */
  function startWindow(key: string, now: number): Window {
    windows.delete(key);
    const started = { count: 0, endsMs: now + windowMs };
    windows.set(key, started);
    return started;
  }

  const countedKey = (key: string) =>
    windows.has(key) || windows.size < maxKeys ? key : overflowKey;

  return {
    count(key) {
      const now = nowMs();
      deleteEnded(now);
      const counted = countedKey(key);
      const window = openWindow(counted, now) ?? startWindow(counted, now);
      const resetMs = window.endsMs - now;
      if (window.count >= limit) return { remaining: -1, resetMs };
      window.count += 1;
      return { remaining: limit - window.count, resetMs };
    },
    read(key) {
      const now = nowMs();
      const window = openWindow(key, now);
      return window === undefined
        ? { remaining: limit, resetMs: windowMs }
        : { remaining: limit - window.count, resetMs: window.endsMs - now };
    },
    uncount(key) {
      const window = openWindow(countedKey(key), nowMs());
      if (window !== undefined && window.count > 0) window.count -= 1;
    },
  };
}
