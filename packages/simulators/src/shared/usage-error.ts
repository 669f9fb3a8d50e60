// What the commands of all simulators have in common: their exit codes, and what is wrong with an option.
export const FAILED = 1;
export const WRONG_USAGE = 2;

/** The command line is wrong: the usage says how it is right. */
export class UsageFault extends Error {}

/** @throws UsageFault */
export function whole(value: string, name: string, max: number): number {
  const number = Number(value);
  if (!/^[0-9]{1,9}$/.test(value) || number > max) {
    throw new UsageFault(`--${name} must be a whole number up to ${max}`);
  }
  return number;
}
