// What the commands of all simulators have in common: their exit codes, and what is wrong with an option.
export const EXIT_FAILED = 1;
export const EXIT_WRONG_USAGE = 2;

/** The command line is wrong: the usage says how it is right. */
export class UsageError extends Error {}

/** @throws UsageFault */
export function parseWholeNumber(value: string, name: string, max: number): number {
  const number = Number(value);
  if (!/^[0-9]{1,9}$/.test(value) || number > max) {
    throw new UsageError(`--${name} must be a whole number up to ${max}`);
  }
  return number;
}
