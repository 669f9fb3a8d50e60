// The command-line options of the fault tests.
import { parseOptions, UsageError } from '../parse-options.ts';

export type FaultOptions = {
  readonly minutes: number;
  /** Of the first round; each round has one more. */
  readonly seed: number;
  /** Parts of the names of the tests to run; empty for all. */
  readonly only: readonly string[];
  readonly list: boolean;
};

export const usage = `npm run faults [-- options] [part of a name …]

Runs a platform under load and injects faults: the server process is killed, the database or the
acquirer fails, the disk is full, or a response is lost. After each test the ledger of the platform, the replayed
events and the ledger of the acquirer simulator must agree to the minor unit.

  --minutes N   start new tests for this number of minutes. The first round, about twenty minutes,
                always runs to its end                        (30)
  --seed N      seed of the first round; each following round adds 1
                                                              (a new seed, which the command prints)
  --list        list the tests, and run none
  --help

Exit codes: 0 no fault found, 1 a fault was found, 2 wrong usage, 130 interrupted.
`;

const minutesStandard = 30;
const minutesMost = 10_000;
const seedsMost = 999_999;

function readWholeNumber(
  name: string,
  text: string | undefined,
  defaultValue: number,
  maximum: number,
): number {
  if (text === undefined) return defaultValue;
  const value = Number(text);
  if (!/^\d{1,6}$/.test(text) || value > maximum || (name === 'minutes' && value < 1)) {
    throw new UsageError(`--${name} is a whole number up to ${maximum}`);
  }
  return value;
}

/**
 * @param newSeed taken where the command line names none
 * @returns undefined for --help
 * @throws UsageError
 */
export function readFaultOptions(args: string[], newSeed: number): FaultOptions | undefined {
  const { values, positionals } = parseOptions({
    args,
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      list: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  if (values.help === true) return undefined;
  return {
    minutes: readWholeNumber('minutes', values.minutes, minutesStandard, minutesMost),
    seed: readWholeNumber('seed', values.seed, newSeed, seedsMost),
    only: positionals,
    list: values.list === true,
  };
}
