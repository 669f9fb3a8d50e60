/** How long to wait before the next try: by chance, so that all tills do not come back at once. */
import { connectorLimits } from '@switchyard/contract';
import type { Chance } from './clock.ts';

const firstMs = 1_000;
const longestMs = 60_000;
const doublingsMax = 30;
const secondMs = 1000;

/** Full jitter: anything from nothing to the limit, which doubles. */
export function pauseAfter(attempt: number, chance: Chance): number {
  return Math.round(chance() * Math.min(longestMs, firstMs * 2 ** Math.min(attempt, doublingsMax)));
}

export const pauseAfterRestart = (chance: Chance): number =>
  Math.round(chance() * connectorLimits.restartPauseSeconds * secondMs);
