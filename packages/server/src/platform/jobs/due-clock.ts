// The clock for due times: it continues if the clock of the machine is set back (ADR 0081).

import type { Log } from '../observability/log.ts';
import type { Clock } from '../time/clock.ts';

/** The maximum delay behind the highest time that it has shown. */
const toleranceMs = 5_000;

export type DueClock = Clock & {
  /** Converts a time of the process clock to a due time of this clock with the same distance from now. */
  toDue(processTime: number): number;
  /** Converts a due time of {@link DueClock.toDue} back to a time of the process clock. */
  fromDue(dueAt: number): number;
  /**
   * True if a deadline has passed that was set at a time of the process clock. If the process clock
   * went back since then, the deadline is compared with this clock.
   */
  hasPassed(deadline: number, setAt: number): boolean;
};

/**
 * Never more than five seconds behind the highest time that it has shown. If the process clock goes
 * back by more, this clock runs ahead of it at the same speed until the process clock has caught
 * up.
 *
 * @example const dueClock = createDueClock(systemClock, log); dueClock.now();
 */
export function createDueClock(clock: Clock, log: Pick<Log, 'warn' | 'info'>): DueClock {
  let highest = Number.NEGATIVE_INFINITY;
  let aheadMs = 0;

  function now(): number {
    const processTime = clock.now();
    const lowest = highest - toleranceMs;
    if (aheadMs > 0 && processTime >= lowest) {
      log.info({ aheadMs }, 'the process clock has caught up with the clock of due times');
      aheadMs = 0;
    }
    if (processTime + aheadMs < lowest) {
      const stepMs = highest - aheadMs - processTime;
      aheadMs = lowest - processTime;
      log.warn({ stepMs, aheadMs }, 'the process clock went back: due times do not wait for it');
    }
    const due = processTime + aheadMs;
    if (due > highest) highest = due;
    return due;
  }

  /** The current lead over the process clock, after a check for a step back. */
  function currentLeadMs(): number {
    now();
    return aheadMs;
  }

  return {
    now,
    toDue: (processTime) => processTime + currentLeadMs(),
    fromDue: (dueAt) => dueAt - currentLeadMs(),
    hasPassed(deadline, setAt) {
      const due = now();
      const processTime = due - aheadMs;
      return (setAt > processTime ? due : processTime) >= deadline;
    },
  };
}
