// Waits for pending messages before a connection is closed.
import { pause } from '../../platform/index.ts';

const drainPollIntervalMs = 20;

/** Waits until `isIdle` returns true, at most `withinMs`. */
export async function drain(isIdle: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!isIdle() && performance.now() < deadline) await pause(drainPollIntervalMs);
}
