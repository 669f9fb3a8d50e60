/** Provides time, random numbers and time limits; no other file of the SDKs reads the clock. */
import { randomInt } from 'node:crypto';
import { abortedFault, type CreateError } from './fault.ts';

/**
 * Returns the time and waits. A test can pass its own clock.
 *
 * @example
 * const clock: Clock = { now: () => 1_767_225_600_000, wait: async () => {} };
 */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after the time, or as soon as the signal is aborted. It never rejects. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
};

/**
 * Returns a random number from 0 to less than 1. A test can pass its own function.
 *
 * @example
 * const random: RandomSource = () => 0.5;
 */
export type RandomSource = () => number;

const randomSteps = 2 ** 32;
const longestTimerMs = 2 ** 31 - 1;

/**
 * The system clock.
 *
 * @example
 * const started = systemClock.now();
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

export const systemRandom: RandomSource = () => randomInt(randomSteps) / randomSteps;

type TimeLimitOptions = {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly createError: CreateError;
};

/**
 * Runs work with a time limit. The signal of the work aborts at the limit or when the caller
 * aborts.
 */
export async function withTimeLimit<Result>(
  ms: number,
  { clock, signal, createError }: TimeLimitOptions,
  work: (signal: AbortSignal) => Promise<Result>,
  makeTimeoutError: () => Error,
): Promise<Result> {
  if (signal?.aborted === true) throw createError(abortedFault);
  const limitController = new AbortController();
  const combinedSignal =
    signal === undefined
      ? limitController.signal
      : AbortSignal.any([limitController.signal, signal]);
  try {
    const timeout = clock.wait(ms, combinedSignal).then(() => {
      throw signal?.aborted === true ? createError(abortedFault) : makeTimeoutError();
    });
    return await Promise.race([work(combinedSignal), timeout]);
  } finally {
    limitController.abort();
  }
}

/**
 * Returns the result of shared work. If the signal aborts first, it throws and the work continues.
 */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  createError: CreateError,
): Promise<Result> {
  if (signal === undefined) return work;
  if (signal.aborted) throw createError(abortedFault);
  let rejectAborted: () => void = () => {};
  const abortedPromise = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(createError(abortedFault));
    signal.addEventListener('abort', rejectAborted);
  });
  try {
    return await Promise.race([work, abortedPromise]);
  } finally {
    signal.removeEventListener('abort', rejectAborted);
  }
}
