// Turns requests away before the process drowns: reports first, what ends a payment last.
import { Refusal } from '@switchyard/contract';
import type { Priority } from '../routes/route-declaration.ts';
import { connectionLimit } from './new-connection-limits.ts';

/**
 * Pressure 1 is where sales are refused. A sale is what brings new work in, so the operations that
 * settle or undo an earlier one are taken until the process is close to standing still.
 */
export const pressureLimits: Readonly<Record<Priority, number>> = {
  report: 0.4,
  list: 0.6,
  sale: 1,
  last: 3,
};

export const sampleEveryMs = 50;
const retryAfterMs = 2000;

export type LoadLimits = {
  /** Delay of the event loop, over two samples, that counts as pressure 1. */
  readonly loopDelayMs: number;
  /** Requests under way that count as pressure 1. */
  readonly running: number;
};

/**
 * A request that waits, for a change or for a slow acquirer, costs memory and no more, and the
 * connections bound that: all of them in use turn away reports alone. Load shows in the loop's
 * delay and in the queues of the rooms.
 */
export const defaultLoadLimits: LoadLimits = {
  loopDelayMs: 400,
  running: connectionLimit / pressureLimits.report,
};

export type LoadShedding = {
  /** Throws `overloaded` when the pressure is too high for the priority. */
  check(priority: Priority): void;
  /** A queue of a room as another source; it reads 1 when sales should be refused. */
  addPressure(read: () => number): void;
  pressure(): number;
  stop(): void;
};

export function createLoadShedding(deps: {
  readonly running: () => number;
  readonly limits?: LoadLimits;
  readonly nowMs?: () => number;
}): LoadShedding & { sample(): void } {
  const { running, limits = defaultLoadLimits, nowMs = () => performance.now() } = deps;
  const reads: (() => number)[] = [];
  let sampledMs = nowMs();
  let earlier = 0;
  let sampled = 0;

  /**
   * How late the timer comes is how long the event loop took for one turn. The smaller of two
   * neighbours counts: one long pause is over by the time it is seen.
   */
  function sample(): void {
    const dueMs = sampledMs + sampleEveryMs;
    sampledMs = nowMs();
    const delay = Math.max(0, sampledMs - dueMs) / limits.loopDelayMs;
    sampled = Math.max(Math.min(delay, earlier), ...reads.map((read) => read()));
    earlier = delay;
  }

  const timer = setInterval(sample, sampleEveryMs);
  timer.unref();
  const pressure = () => Math.max(sampled, running() / limits.running);

  return {
    check(priority) {
      if (pressure() < pressureLimits[priority]) return;
      throw new Refusal('overloaded', 'The platform has more work than it can do in time.', {
        retryAfterMs,
      });
    },
    addPressure: (read) => {
      reads.push(read);
    },
    pressure,
    sample,
    stop: () => clearInterval(timer),
  };
}
