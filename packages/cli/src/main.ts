/** The process: hands the world to the command, and its exit code to the shell. */
import { CommanderError } from 'commander';
import { createRunner } from './command-line/command-runner.ts';
import { runLine } from './program.ts';
import { systemClock } from './runtime/clock.ts';
import { exitCodes } from './runtime/exit-codes.ts';
import type { World } from './runtime/runtime-environment.ts';

const stopping = new AbortController();

/** The first asks for an end, the second makes one. */
function stop(): void {
  if (stopping.signal.aborted) process.exit(exitCodes.interrupted);
  stopping.abort();
}

// Whoever reads us has enough, as `head` does: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.fault);
});
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

const world: World = {
  env: process.env,
  clock: systemClock,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopping: stopping.signal,
};

const runner = createRunner(world);
try {
  await runLine(world, runner, process.argv.slice(2));
  process.exitCode = runner.exitCode();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help and version were asked for; everything else is a line that means nothing.
  const isAsked = ['commander.helpDisplayed', 'commander.version'].includes(error.code);
  process.exitCode = isAsked ? exitCodes.done : exitCodes.usage;
}
