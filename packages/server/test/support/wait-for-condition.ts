// Waits for a condition in tests with a time limit, instead of a fixed time.
import assert from 'node:assert/strict';
import { pause, systemClock } from '../../src/platform/index.ts';

const pollMs = 5;
const limitMs = 60_000;

/** @param description the beginning of the message "… : not within …" */
export async function eventually(
  description: string,
  condition: () => Promise<boolean> | boolean,
  withinMs = limitMs,
): Promise<void> {
  for (const end = systemClock.now() + withinMs; systemClock.now() < end; ) {
    if (await condition()) return;
    await pause(pollMs);
  }
  assert.fail(`${description}: not within ${withinMs} ms`);
}
