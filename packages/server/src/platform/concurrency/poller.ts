// Calls a function again and again: at once after a full batch or a wake-up, otherwise after a pause.

import { withJitter } from '../identifiers/ids.ts';
import { pause } from '../time/clock.ts';

const errorPauseMs = 250;
const defaultMaxErrorPauseMs = 15_000;

export type Poller = {
  start(): void;
  /** Resolves after the current call. */
  stop(): Promise<void>;
  /** Ends the current pause. During a call, skips the next pause. */
  wake(): void;
};

export type PollerOptions = {
  pollMs: number;
  /** The pauses after failures grow up to this. */
  maxErrorPauseMs?: number;
  /** Processes one batch. True if more work may wait. */
  poll(): Promise<boolean>;
  onError(error: unknown): void;
};

export function createPoller({
  pollMs,
  maxErrorPauseMs = defaultMaxErrorPauseMs,
  poll,
  onError,
}: PollerOptions): Poller {
  let pauseController = new AbortController();
  let isWoken = false;
  let stopping = false;
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping) {
      isWoken = false;
      let hasMore = false;
      try {
        hasMore = await poll();
        failures = 0;
      } catch (error) {
        failures += 1;
        onError(error);
      }
      if (stopping || (failures === 0 && (hasMore || isWoken))) continue;
      pauseController = new AbortController();
      const errorMs = Math.min(errorPauseMs * 2 ** failures, maxErrorPauseMs);
      await pause(failures === 0 ? pollMs : withJitter(errorMs), pauseController.signal);
    }
  }

  function wake(): void {
    isWoken = true;
    pauseController.abort();
  }

  return {
    start() {
      loop ??= run();
    },
    async stop() {
      stopping = true;
      wake();
      await loop;
    },
    wake,
  };
}
