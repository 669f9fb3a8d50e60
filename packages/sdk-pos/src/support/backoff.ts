/** Computes random pauses before the next attempt, so that tills do not reconnect all at once. */
import { connectorLimits } from '@switchyard/contract';
import type { RandomSource } from './clock.ts';

const firstDelayMs = 1_000;
const maxDelayMs = 60_000;
const doublingsMax = 30;
const secondMs = 1000;

/** Full jitter: a random pause from zero to a limit that doubles with each attempt. */
export function backoffDelay(attempt: number, random: RandomSource): number {
  return Math.round(
    random() * Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt, doublingsMax)),
  );
}

export const restartDelay = (random: RandomSource): number =>
  Math.round(random() * connectorLimits.restartPauseSeconds * secondMs);
