/**
 * Computes random pauses before the next attempt, so that terminals do not reconnect all at once.
 */
import { connectorLimits } from '@switchyard/contract';
import type { Chance } from './clock.ts';

export type PauseTimes = {
  /** The upper limit of the first pause; the limit doubles with each attempt. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** The pause after a refusal that is not retryable; the operator must change something first. */
  readonly refusedMs: number;
};

export const defaultPauses: PauseTimes = {
  firstMs: 1_000,
  longestMs: 60_000,
  refusedMs: 300_000,
};

const secondMs = 1000;
const doublingsMax = 30;

/** Full jitter: a random pause from zero to a limit that doubles with each attempt. */
export function pauseAfter(attempt: number, chance: Chance, times: PauseTimes): number {
  const most = Math.min(times.longestMs, times.firstMs * 2 ** Math.min(attempt, doublingsMax));
  return Math.round(chance() * most);
}

/** A random pause from half of the limit to the limit; an earlier attempt would fail again. */
export function pauseAfterRefusal(chance: Chance, { refusedMs }: PauseTimes): number {
  return Math.round(refusedMs * (1 + chance()) * 0.5);
}

export const pauseAfterRestart = (chance: Chance): number =>
  Math.round(chance() * connectorLimits.restartPauseSeconds * secondMs);
