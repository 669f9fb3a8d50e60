// Reads the command line of `npm run attack`.
import { parseOptions, UsageError } from '../parse-options.ts';

export type AttackOptions = {
  /** Numbers of the items to run; empty for all. */
  readonly only: readonly number[];
  readonly seed: number;
  readonly list: boolean;
};

export const usage = `npm run attack [-- options]

Starts a temporary platform in production mode with its own database, and a demo for the attacks that
need one. Attacks them over HTTP and sockets, as an external client. Reports the number of attempts,
the responses and the result of each attack: "held" (the attack failed) or "BROKEN" (the attack
succeeded or could not run).

  --only 1,7    run the attacks of these items only   (all)
  --seed N      seed of the serial numbers, guessed claim codes and ports; use the
                seed of an earlier run to repeat them (a new seed, which the command prints)
  --list        list the attacks and end
  --help

Exit codes: 0 no attack succeeded, 1 an attack succeeded or could not run, 2 wrong usage, 130 interrupted.
`;

export const maxSeed = 999_999;

function readSeed(text: string | undefined, newSeed: number): number {
  if (text === undefined) return newSeed;
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`--seed is a whole number up to ${maxSeed}`);
  return Number(text);
}

function readItems(text: string | undefined, validItems: ReadonlySet<number>): number[] {
  if (text === undefined) return [];
  return text.split(',').map((part) => {
    const item = Number(part);
    if (!validItems.has(item)) {
      throw new UsageError(`--only holds "${part}"; the items are ${[...validItems].join(', ')}`);
    }
    return item;
  });
}

/**
 * @param newSeed used if the command line has none
 * @returns undefined if help is requested
 * @throws UsageError
 */
export function readOptions(
  args: string[],
  validItems: ReadonlySet<number>,
  newSeed: number,
): AttackOptions | undefined {
  const { values } = parseOptions({
    args,
    options: {
      only: { type: 'string' },
      seed: { type: 'string' },
      list: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return undefined;
  return {
    only: readItems(values.only, validItems),
    seed: readSeed(values.seed, newSeed),
    list: values.list === true,
  };
}
