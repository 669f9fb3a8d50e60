/** The only place where this package asks for time and chance. */
import { randomInt } from 'node:crypto';
import { aborted } from './errors.ts';

/**
 * Tells the time and waits; a test hands in its own.
 *
 * @example
 * const clock: Clock = { now: () => 1_767_225_600_000, wait: async () => {} };
 */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after the time, or as soon as the signal is aborted: it never rejects. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
};

/**
 * A number from 0 to under 1; a test hands in its own.
 *
 * @example
 * const chance: Chance = () => 0.5;
 */
export type Chance = () => number;

const steps = 2 ** 32;
const longestTimerMs = 2 ** 31 - 1;

/**
 * The time of the machine.
 *
 * @example
 * const client = createDeviceClient({ ...settings, clock: systemClock });
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(Math.max(ms, 0), longestTimerMs));
      signal?.addEventListener('abort', done);
    }),
};

export const systemChance: Chance = () => randomInt(steps) / steps;

type Within = { readonly clock: Clock; readonly signal?: AbortSignal | undefined };

/** Ends work that takes too long, or that nobody wants any more, and tells it so by its signal. */
export async function within<Result>(
  ms: number,
  { clock, signal }: Within,
  work: (signal: AbortSignal) => Promise<Result>,
  tooLate: () => Error,
): Promise<Result> {
  if (signal?.aborted === true) throw aborted();
  const own = new AbortController();
  const both = signal === undefined ? own.signal : AbortSignal.any([own.signal, signal]);
  try {
    const timeout = clock.wait(ms, both).then(() => {
      throw signal?.aborted === true ? aborted() : tooLate();
    });
    return await Promise.race([work(both), timeout]);
  } finally {
    own.abort();
  }
}

/** What somebody else's work gives, unless the signal comes first; the work goes on. */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  if (signal.aborted) throw aborted();
  let stop: () => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(aborted());
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
