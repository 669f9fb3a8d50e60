/** Runs the command line of this process and sets its exit code. */
import { CommanderError } from 'commander';
import type { CommandDefinition } from './command-line/command-definition.ts';
import { createCommandRunner } from './command-line/command-runner.ts';
import { runCommandLine } from './program.ts';
import { systemClock } from './runtime/clock.ts';
import { exitCodes } from './runtime/exit-codes.ts';
import type { RuntimeEnvironment } from './runtime/runtime-environment.ts';

/** @param serverCommands the commands of `switchyard admin` that open the database of the server */
export async function runProcess(
  env: RuntimeEnvironment['env'],
  serverCommands?: readonly CommandDefinition[],
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
