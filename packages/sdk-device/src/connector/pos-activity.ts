/**
 * Detects from the data whether a point of sale uses the terminal; the platform sends no claim
 * events.
 */
import type { Clock } from '@switchyard/sdk-core';

/**
 * A point of sale started to send messages to the terminal, or stopped.
 *
 * @example
 * client.on('posActivity', ({ isActive }: PosActivity) => screen.setBusy(isActive));
 */
export type PosActivity = {
  /** True with the first message after a quiet time; false after the next quiet time or a break. */
  readonly isActive: boolean;
  readonly at: number;
  /** Messages in both directions since the traffic started. */
  readonly messages: number;
  readonly bytes: number;
};

export type ActivityTracker = {
  received(bytes: number): void;
  /** Counts a sent message in the current flow. It starts no flow, as it may have no receiver. */
  sent(bytes: number): void;
  /** The connection has ended. */
  connectionClosed(): void;
};

type ActivityTrackerOptions = {
  readonly clock: Clock;
  readonly idleMs: number;
  onChange(traffic: PosActivity): void;
};

type ActivePeriod = {
  messages: number;
  bytes: number;
  lastAt: number;
  readonly over: AbortController;
};

export function createActivityTracker({
  clock,
  idleMs,
  onChange,
}: ActivityTrackerOptions): ActivityTracker {
  let period: ActivePeriod | undefined;

  function endPeriod(endingPeriod: ActivePeriod): void {
    if (period !== endingPeriod) return;
    period = undefined;
    endingPeriod.over.abort();
    const { messages, bytes } = endingPeriod;
    onChange({ isActive: false, at: clock.now(), messages, bytes });
  }

  async function waitUntilIdle(endingPeriod: ActivePeriod): Promise<void> {
    for (;;) {
      const remainingMs = endingPeriod.lastAt + idleMs - clock.now();
      if (remainingMs <= 0) return endPeriod(endingPeriod);
      await clock.wait(remainingMs, endingPeriod.over.signal);
      if (endingPeriod.over.signal.aborted) return;
    }
  }

  function count(bytes: number): boolean {
    if (period === undefined) return false;
    period.messages += 1;
    period.bytes += bytes;
    period.lastAt = clock.now();
    return true;
  }

  return {
    sent: (bytes) => void count(bytes),
    received(bytes) {
      if (count(bytes)) return;
      const at = clock.now();
      period = { messages: 1, bytes, lastAt: at, over: new AbortController() };
      onChange({ isActive: true, at, messages: 1, bytes });
      void waitUntilIdle(period);
    },
    connectionClosed() {
      if (period !== undefined) endPeriod(period);
    },
  };
}
