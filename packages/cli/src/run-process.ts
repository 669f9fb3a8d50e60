/** Runs the command line of this process and sets its exit code. */
import { CommanderError } from 'commander';
import { createCommandRunner } from './command-line/command-runner.ts';
import { runCommandLine, type ServerCommands } from './program.ts';
import { systemClock } from './runtime/clock.ts';
import { exitCodes } from './runtime/exit-codes.ts';
import type { RuntimeEnvironment } from './runtime/runtime-environment.ts';

export async function runProcess(
  env: RuntimeEnvironment['env'],
  serverCommands?: ServerCommands,
): Promise<void> {
  const stopping = new AbortController();
  // The first signal stops the command in order, the second ends the process at once.
  const stop = () => {
    if (stopping.signal.aborted) process.exit(exitCodes.interrupted);
    stopping.abort();
  };
  // The reader of stdout may close it early, such as `head`: that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.fault);
  });
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const environment: RuntimeEnvironment = {
    env,
    clock: systemClock,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    stopping: stopping.signal,
  };
  const runner = createCommandRunner(environment);
  try {
    await runCommandLine(environment, runner, process.argv.slice(2), serverCommands);
    process.exitCode = runner.exitCode();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander throws for --help and --version too; every other CommanderError is an invalid command line.
    const isHelpOrVersion = ['commander.helpDisplayed', 'commander.version'].includes(error.code);
    process.exitCode = isHelpOrVersion ? exitCodes.done : exitCodes.usage;
  }
}
