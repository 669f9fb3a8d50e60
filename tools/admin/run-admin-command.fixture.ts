// Runs a command of `switchyard admin` in this process, for tests.
import { runWith } from '../../packages/cli/src/command-line/run-command.fixture.ts';
import { serverCommands } from './server-commands.ts';

/** @param answers the lines of standard input */
export const runAdminCommand = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  answers: readonly string[] = [],
) => {
  const stdin = answers.map((answer) => `${answer}\n`).join('');
  return runWith(['admin', ...args], { env, stdin, serverCommands });
};
