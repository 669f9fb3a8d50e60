// Shared by the commands of all simulators: exit codes, the error of a wrong command line, and whole numbers.
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USAGE = 2;

/** The command line is wrong; the command prints its usage. */
export class UsageError extends Error {}

/** A file of the command line is wrong; the command prints no usage, which would hide the error. */
export class FileError extends UsageError {}

/** @throws UsageError */
export function parseWholeNumber(value: string, name: string, max: number): number {
  const number = Number(value);
  if (!/^[0-9]{1,9}$/.test(value) || number > max) {
    throw new UsageError(`--${name} must be a whole number up to ${max}`);
  }
  return number;
}

/** Prints the error of a command, and sets its exit code. */
export function reportError(command: string, usage: string, error: unknown): void {
  const isWrongUsage = error instanceof UsageError;
  const message = error instanceof Error ? error.message : String(error);
  const withUsage = isWrongUsage && !(error instanceof FileError);
  process.stderr.write(withUsage ? `${message}\n\n${usage}` : `${command}: ${message}\n`);
  process.exitCode = isWrongUsage ? EXIT_WRONG_USAGE : EXIT_FAILED;
}
