// The clock: the only file that reads the time of the machine. Functions receive it as an argument.
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '@switchyard/contract';

export type Clock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
};

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export const systemClock: Clock = { now: () => Date.now() };

let lastMs = Number.NaN;
let lastText = '';

/**
 * RFC 3339 in UTC with milliseconds, the only time format of the platform's interfaces. Under load
 * the same millisecond is formatted several times, so the last text is cached.
 */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}

/** The day in UTC, such as `2026-03-01`. */
export const isoDay = (ms: number): string => isoTime(ms).slice(0, 10);

/** Waits. An abort ends the wait early and is no error: the caller checks its own state next. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, defined({ signal }));
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/** Waits for the end of the work, but not longer than the limit. */
export async function waitAtMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  try {
    await Promise.race([work, pause(limitMs, limit.signal)]);
  } finally {
    limit.abort();
  }
}
