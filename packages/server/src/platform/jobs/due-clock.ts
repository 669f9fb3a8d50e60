// The clock that due times are compared with: it goes on where the clock of the machine is set back (ADR 0083).

import type { Log } from '../observability/log.ts';
import type { Clock } from '../time/clock.ts';

/** So far it may run behind the highest time that it has shown. */
const toleranceMs = 5_000;

export type DueClock = Clock & {
  /** The due time by this clock for a time by the process clock: both are equally far from now. */
  toDue(at: number): number;
  /** The time by the process clock for a due time of {@link DueClock.toDue}. */
  fromDue(dueAt: number): number;
  /**
   * Whether a deadline is over that was set at a time by the process clock. One that was set before the
   * process clock went back is compared with this clock.
   */
  hasPassed(deadline: number, setAt: number): boolean;
};

/**
 * Never runs more than five seconds behind the highest time that it has shown. Where the process clock goes
 * back by more it runs ahead of the process clock, at the same speed, until that has caught up.
 *
 * @example const dueClock = createDueClock(systemClock, log); dueClock.now();
 */
export function createDueClock(clock: Clock, log: Pick<Log, 'warn' | 'info'>): DueClock {
  let highest = Number.NEGATIVE_INFINITY;
  let aheadMs = 0;

  function now(): number {
    const at = clock.now();
    const lowest = highest - toleranceMs;
    if (aheadMs > 0 && at >= lowest) {
      log.info({ aheadMs }, 'the process clock has caught up with the clock of due times');
      aheadMs = 0;
    }
    if (at + aheadMs < lowest) {
      const stepMs = highest - aheadMs - at;
      aheadMs = lowest - at;
      log.warn({ stepMs, aheadMs }, 'the process clock went back: due times do not wait for it');
    }
    const due = at + aheadMs;
    if (due > highest) highest = due;
    return due;
  }

  /** How far ahead it runs, once a step back is noticed. */
  function currentLeadMs(): number {
    now();
    return aheadMs;
  }

  return {
    now,
    toDue: (at) => at + currentLeadMs(),
    fromDue: (dueAt) => dueAt - currentLeadMs(),
    hasPassed(deadline, setAt) {
      const due = now();
      const at = due - aheadMs;
      return (setAt > at ? due : at) >= deadline;
    },
  };
}
