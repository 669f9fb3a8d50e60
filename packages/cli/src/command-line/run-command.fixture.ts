/** Runs a command in this process, for tests. */
import { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { runCommandLine } from '../program.ts';
import { systemClock } from '../runtime/clock.ts';
import { createCommandRunner } from './command-runner.ts';

export const run = (...args: string[]) => runUntil(new AbortController().signal, ...args);

/** Aborting the signal has the effect of Ctrl+C. */
export async function runUntil(stopping: AbortSignal, ...args: string[]) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof written) => ({
    write(text: string | Uint8Array, done?: (error?: Error | null) => void) {
      written[name] += String(text);
      done?.();
      return true;
    },
  });
  const environment = {
    env: {},
    clock: systemClock,
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stopping,
  };
  const runner = createCommandRunner(environment);
  try {
    await runCommandLine(environment, runner, args);
  } catch (error) {
    // --help and --version end with a CommanderError of exit code 0.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
  return { ...written, code: runner.exitCode() };
}
