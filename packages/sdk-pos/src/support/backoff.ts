/** Computes random pauses before the next attempt, so that tills do not reconnect all at once. */
import { connectorLimits } from '@switchyard/contract';
import type { Chance } from './clock.ts';

const firstMs = 1_000;
const longestMs = 60_000;
const doublingsMax = 30;
const secondMs = 1000;

/** Full jitter: a random pause from zero to a limit that doubles with each attempt. */
export function pauseAfter(attempt: number, chance: Chance): number {
  return Math.round(chance() * Math.min(longestMs, firstMs * 2 ** Math.min(attempt, doublingsMax)));
}

export const pauseAfterRestart = (chance: Chance): number =>
  Math.round(chance() * connectorLimits.restartPauseSeconds * secondMs);
