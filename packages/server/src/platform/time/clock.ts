// Tells the time: the only place that reads the machine's clock, handed to whoever needs it.
import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '@switchyard/contract';

export type Clock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
};

export const systemClock: Clock = { now: () => Date.now() };

let lastMs = Number.NaN;
let lastText = '';

/**
 * RFC 3339 in UTC with milliseconds, the one form of time that leaves the platform. Under load a
 * millisecond is asked for several times.
 */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}

/** Waits; an abort ends the wait early and is not an error, since the caller looks at its own state next. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, defined({ signal }));
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
