// A clock that changes only when the test moves it.
import { type Clock, createDueClock, type DueClock } from '../../src/platform/index.ts';

export type MovableClock = Clock & { advance(ms: number): void };

export function movableClock(startAt = 1_800_000_000_000): MovableClock {
  let now = startAt;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}

/** A due-time clock over another clock, without a log. */
export const dueClockOf = (clock: Clock): DueClock =>
  createDueClock(clock, { warn: () => {}, info: () => {} });
