// Looks for work again and again: at once after a full haul or a nudge, else after a while.

import { jittered } from '../identifiers/ids.ts';
import { pause } from '../time/clock.ts';

const errorPauseMs = 250;
const longestErrorPauseMs = 15_000;

export type Poller = {
  start(): void;
  /** Ends after the turn that is under way. */
  stop(): Promise<void>;
  /** Ends the present pause; during a turn, the one that would follow. */
  poke(): void;
};

export type PollerOptions = {
  pollMs: number;
  /** One look for work; true where more is likely to wait. */
  turn(): Promise<boolean>;
  onError(error: unknown): void;
};

export function createPoller({ pollMs, turn, onError }: PollerOptions): Poller {
  let nap = new AbortController();
  let poked = false;
  let stopping = false;
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping) {
      poked = false;
      let more = false;
      try {
        more = await turn();
        failures = 0;
      } catch (error) {
        failures += 1;
        onError(error);
      }
      if (stopping || (failures === 0 && (more || poked))) continue;
      nap = new AbortController();
      const errorMs = Math.min(errorPauseMs * 2 ** failures, longestErrorPauseMs);
      await pause(failures === 0 ? pollMs : jittered(errorMs), nap.signal);
    }
  }

  function poke(): void {
    poked = true;
    nap.abort();
  }

  return {
    start() {
      loop ??= run();
    },
    async stop() {
      stopping = true;
      poke();
      await loop;
    },
    poke,
  };
}
