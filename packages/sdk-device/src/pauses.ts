/** How long to wait before the next try: by chance, so that thousands do not come back at once. */
import { connectorLimits } from '@switchyard/contract';
import type { Chance } from './clock.ts';

export type PauseTimes = {
  /** The first pause is at most so long; each further one twice that. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Where the platform said that it will not change its mind; somebody has to change something. */
  readonly refusedMs: number;
};

export const defaultPauses: PauseTimes = {
  firstMs: 1_000,
  longestMs: 60_000,
  refusedMs: 300_000,
};

const secondMs = 1000;
const doublingsMax = 30;

/** Full jitter: anything from nothing to the limit, which doubles. */
export function pauseAfter(attempt: number, chance: Chance, times: PauseTimes): number {
  const most = Math.min(times.longestMs, times.firstMs * 2 ** Math.min(attempt, doublingsMax));
  return Math.round(chance() * most);
}

/** From half of it to all of it: to come back at once would be of no use. */
export function pauseAfterRefusal(chance: Chance, { refusedMs }: PauseTimes): number {
  return Math.round(refusedMs * (1 + chance()) * 0.5);
}

export const pauseAfterRestart = (chance: Chance): number =>
  Math.round(chance() * connectorLimits.restartPauseSeconds * secondMs);
