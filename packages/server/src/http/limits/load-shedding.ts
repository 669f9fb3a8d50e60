// Rejects requests under overload: reports first, operations that complete a payment last.
import { ProblemError } from '@switchyard/contract';
import type { Priority } from '../routes/route-declaration.ts';
import { connectionLimit } from './new-connection-limits.ts';

/**
 * At pressure 1 the server rejects sales. A sale creates new work, so operations that complete or undo
 * an earlier sale are accepted for longer.
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
  /** Event-loop delay, over two samples, that counts as pressure 1. */
  readonly loopDelayMs: number;
  /** Running requests that count as pressure 1. */
  readonly running: number;
};

/**
 * A request that waits for a change or for a slow acquirer costs memory only, and the connection limit
 * bounds it: when all connections are in use, the server rejects reports only. The event-loop delay and
 * the queues of the modules show the real load.
 */
export const defaultLoadLimits: LoadLimits = {
  loopDelayMs: 400,
  running: connectionLimit / pressureLimits.report,
};

export type LoadShedding = {
  /** @throws ProblemError overloaded when the pressure is too high for the priority */
  check(priority: Priority): void;
  /** Adds the queue of a module as a source; it returns 1 when sales should be rejected. */
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
   * The delay of the timer is the delay of the event loop. The smaller of two consecutive samples
   * counts, since a single long pause has ended when it is measured.
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
      throw new ProblemError(
        'overloaded',
        'The platform is overloaded; retry after the time in Retry-After.',
        {
          retryAfterMs,
        },
      );
    },
    addPressure: (read) => {
      reads.push(read);
    },
    pressure,
    sample,
    stop: () => clearInterval(timer),
  };
}
