/** Runs a command in this process, for tests. */
import { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { runCommandLine, type ServerCommands } from '../program.ts';
import { systemClock } from '../runtime/clock.ts';
import { exitCodes } from '../runtime/exit-codes.ts';
import { createCommandRunner } from './command-runner.ts';

type RunOptions = {
  /** Aborting the signal has the effect of Ctrl+C. */
  readonly stopping?: AbortSignal;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly serverCommands?: ServerCommands;
};

export const run = (...args: string[]) => runWith(args);
export const runUntil = (stopping: AbortSignal, ...args: string[]) => runWith(args, { stopping });

export async function runWith(args: readonly string[], options: RunOptions = {}) {
  const { stopping = new AbortController().signal, env = {}, stdin = '', serverCommands } = options;
  const written = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof written) => ({
    write(text: string | Uint8Array, done?: (error?: Error | null) => void) {
      written[name] += String(text);
      done?.();
      return true;
    },
  });
  const environment = {
    env,
    clock: systemClock,
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stopping,
  };
  const runner = createCommandRunner(environment);
  let code: number;
  try {
    await runCommandLine(environment, runner, args, serverCommands);
    code = runner.exitCode();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // --help and --version end with a CommanderError of exit code 0; the others are an invalid command line.
    code = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
  return { ...written, code };
}
