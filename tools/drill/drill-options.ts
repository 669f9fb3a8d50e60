// The command-line options of the drill.
import { parseOptions, UsageError } from '../parse-options.ts';

/** In the order in which they run. */
export const steps = ['tests', 'routing', 'failure', 'move', 'figures'] as const;
export type Step = (typeof steps)[number];

export type DrillOptions = {
  readonly steps: readonly Step[];
  /** Directory of the programs of a PostgreSQL that has the extension; undefined: search it. */
  readonly binDir: string | undefined;
  /** Of each measurement of the figures. */
  readonly seconds: number;
};

export const usage = `npm run drill -- citus [options] [step …]

Starts a Citus cluster of a coordinator and workers in a temporary folder, and tests the platform on
it. Each node listens on port 5432 of its own address: 127.0.77.1, 127.0.77.2 and so on. Everything
is deleted at the end.

  tests      run the tests of payments, QR payments, webhooks and reports on the cluster
  routing    check that each statement that stores, finds or changes a payment is sent to one shard
  failure    kill a worker under load, and start it again
  move       add a worker under load, and move shards to it
  figures    measure sales on one, two and three workers, and on PostgreSQL alone

  --bin-dir DIR   directory of the programs of a PostgreSQL with the extension
                  (the first of /usr/lib/postgresql/*/bin that has it, then pg_config of the PATH)
  --seconds N     length of each measurement of the figures    (8)
  --help

Without a step, all steps run. Exit codes: 0 no fault found, 1 a fault was found, 2 wrong usage,
3 no PostgreSQL with the extension, 130 interrupted.
`;

const secondsStandard = 8;
const secondsMost = 600;

function readSeconds(text: string | undefined): number {
  if (text === undefined) return secondsStandard;
  const value = Number(text);
  if (!/^\d{1,3}$/.test(text) || value < 1 || value > secondsMost)
    throw new UsageError(`--seconds is a whole number from 1 to ${secondsMost}`);
  return value;
}

/**
 * @returns undefined for --help
 * @throws UsageError
 */
export function readDrillOptions(args: string[]): DrillOptions | undefined {
  const { values, positionals } = parseOptions({
    args,
    options: {
      'bin-dir': { type: 'string' },
      seconds: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  if (values.help === true) return undefined;
  const [database, ...chosen] = positionals;
  if (database === undefined) throw new UsageError('the name of the drill is missing: citus');
  if (database !== 'citus') throw new UsageError(`there is no drill ${database}; there is: citus`);
  for (const name of chosen) {
    if (!(steps as readonly string[]).includes(name))
      throw new UsageError(`there is no step ${name}; the steps are ${steps.join(', ')}`);
  }
  return {
    steps: steps.filter((step) => chosen.length === 0 || chosen.includes(step)),
    binDir: values['bin-dir'],
    seconds: readSeconds(values.seconds),
  };
}
