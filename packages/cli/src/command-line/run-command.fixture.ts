/** Runs the command in this process, as tests of single commands do. */
import { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { runLine } from '../program.ts';
import { systemClock } from '../runtime/clock.ts';
import { createRunner } from './command-runner.ts';

export const run = (...args: string[]) => runUntil(new AbortController().signal, ...args);

/** The signal is what Ctrl+C is. */
export async function runUntil(stopping: AbortSignal, ...args: string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) => ({
    write(text: string | Uint8Array, done?: (error?: Error | null) => void) {
      said[name] += String(text);
      done?.();
      return true;
    },
  });
  const world = {
    env: {},
    clock: systemClock,
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stopping,
  };
  const runner = createRunner(world);
  try {
    await runLine(world, runner, args);
  } catch (error) {
    // --help ends it, and is no fault.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
  return { ...said, code: runner.exitCode() };
}
