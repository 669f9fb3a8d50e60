// The command-line options of the fault tests.
import { parseArgs } from 'node:util';

export type FaultOptions = {
  readonly minutes: number;
  /** Of the first round; each round has one more. */
  readonly seed: number;
  /** Parts of the names of the tests to run; empty for all. */
  readonly only: readonly string[];
  readonly list: boolean;
};

export class UsageError extends Error {}

export const usage = `npm run faults [-- options] [part of a name …]

Removes parts of a platform under load, repeatedly and with new seeds: its process, its database,
its disk, its acquirer, or a response. After each test the ledger of the platform, the replayed
events and the ledger of the acquirer simulator must agree to the minor unit.

  --minutes N   begin new tests until so long has passed; each runs once, however short that is,
                and a whole round takes about twenty minutes  (30)
  --seed N      of the first round; each round has one more   (a new one, printed)
  --list        name the tests and end
  --help

Exit codes: 0 all well, 1 a fault was found, 2 wrong usage, 130 interrupted.
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

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        minutes: { type: 'string' },
        seed: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    });
  } catch (error) {
    // Node's hint behind the first sentence is about file names that begin with a dash.
    const [firstSentence = ''] = (error instanceof Error ? error.message : String(error)).split(
      '. ',
    );
    throw new UsageError(firstSentence);
  }
}

/**
 * @param newSeed taken where the command line names none
 * @returns undefined for --help
 * @throws UsageFault
 */
export function readFaultOptions(args: string[], newSeed: number): FaultOptions | undefined {
  const { values, positionals } = parse(args);
  if (values.help === true) return undefined;
  return {
    minutes: readWholeNumber('minutes', values.minutes, minutesStandard, minutesMost),
    seed: readWholeNumber('seed', values.seed, newSeed, seedsMost),
    only: positionals,
    list: values.list === true,
  };
}
