/**
 * Detects from the data whether a point of sale uses the terminal; the platform sends no claim
 * events.
 */
import type { Clock } from '../support/clock.ts';

/**
 * A point of sale started to send messages to the terminal, or stopped.
 *
 * @example
 * client.on('claimedTraffic', ({ isFlowing }: ClaimedTraffic) => screen.setBusy(isFlowing));
 */
export type ClaimedTraffic = {
  /** True with the first message after a quiet time; false after the next quiet time or a break. */
  readonly isFlowing: boolean;
  readonly at: number;
  /** Messages in both directions since the traffic started. */
  readonly messages: number;
  readonly bytes: number;
};

export type Traffic = {
  heard(bytes: number): void;
  /** Counts a sent message in the current flow. It starts no flow, as it may have no receiver. */
  said(bytes: number): void;
  /** The connection has ended. */
  end(): void;
};

type Deps = {
  readonly clock: Clock;
  readonly quietMs: number;
  tell(traffic: ClaimedTraffic): void;
};

type Flow = { messages: number; bytes: number; lastAt: number; readonly over: AbortController };

export function createTraffic({ clock, quietMs, tell }: Deps): Traffic {
  let flow: Flow | undefined;

  function stop(which: Flow): void {
    if (flow !== which) return;
    flow = undefined;
    which.over.abort();
    const { messages, bytes } = which;
    tell({ isFlowing: false, at: clock.now(), messages, bytes });
  }

  async function untilQuiet(which: Flow): Promise<void> {
    for (;;) {
      const leftMs = which.lastAt + quietMs - clock.now();
      if (leftMs <= 0) return stop(which);
      await clock.wait(leftMs, which.over.signal);
      if (which.over.signal.aborted) return;
    }
  }

  function count(bytes: number): boolean {
    if (flow === undefined) return false;
    flow.messages += 1;
    flow.bytes += bytes;
    flow.lastAt = clock.now();
    return true;
  }

  return {
    said: (bytes) => void count(bytes),
    heard(bytes) {
      if (count(bytes)) return;
      const at = clock.now();
      flow = { messages: 1, bytes, lastAt: at, over: new AbortController() };
      tell({ isFlowing: true, at, messages: 1, bytes });
      void untilQuiet(flow);
    },
    end() {
      if (flow !== undefined) stop(flow);
    },
  };
}
