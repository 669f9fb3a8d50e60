// Shared by the commands of all simulators: exit codes, the error of a wrong command line, and whole numbers.
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USAGE = 2;

/** The command line is wrong; the command prints its usage. */
export class UsageError extends Error {}

/** @throws UsageError */
export function parseWholeNumber(value: string, name: string, max: number): number {
  const number = Number(value);
  if (!/^[0-9]{1,9}$/.test(value) || number > max) {
    throw new UsageError(`--${name} must be a whole number up to ${max}`);
  }
  return number;
}
