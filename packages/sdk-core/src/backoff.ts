/**
 * Computes random pauses before the next attempt, so that clients do not reconnect all at once.
 */
import { connectorLimits } from '@switchyard/contract';
import type { RandomSource } from './clock.ts';

export type RetryDelays = {
  /** The upper limit of the first pause; the limit doubles with each attempt. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** The pause after a refusal that is not retryable; the operator must change something first. */
  readonly refusedMs: number;
};

export const defaultRetryDelays: RetryDelays = {
  firstMs: 1_000,
  maxMs: 60_000,
  refusedMs: 300_000,
};

const secondMs = 1000;
const doublingsMax = 30;

/** Full jitter: a random pause from zero to a limit that doubles with each attempt. */
export function backoffDelay(
  attempt: number,
  random: RandomSource,
  delays: RetryDelays = defaultRetryDelays,
): number {
  const limitMs = Math.min(delays.maxMs, delays.firstMs * 2 ** Math.min(attempt, doublingsMax));
  return Math.round(random() * limitMs);
}

/** A random pause from half of the limit to the limit; an earlier attempt would fail again. */
export function refusalDelay(random: RandomSource, { refusedMs }: RetryDelays): number {
  return Math.round(refusedMs * (1 + random()) * 0.5);
}

export const restartDelay = (random: RandomSource): number =>
  Math.round(random() * connectorLimits.restartPauseSeconds * secondMs);
