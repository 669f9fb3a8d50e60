// Reads the command line of the benchmarks.
import { parseOptions, UsageError } from '../parse-options.ts';
import { targets } from './report/targets.ts';

const benchNames = [
  'sales',
  'status',
  'tokens',
  'estate',
  'captureall',
  'pin',
  'tracing',
  'webhooks',
  'qr',
  'relay',
  'reporting',
  'portal',
  'codec',
] as const;
export type BenchName = (typeof benchNames)[number];

export type TokenCaseName = keyof typeof targets.tokens;
export const tokenCaseNames = Object.keys(targets.tokens) as TokenCaseName[];

const relayParts = ['idle', 'restart', 'tls', 'flood', 'plain'] as const;
export type RelayPart = (typeof relayParts)[number];

/** The value of each number that is left out, and its range. */
const numbers = {
  /** Of each step. */
  seconds: { standard: 8, least: 1, most: 600 },
  /** How often the knee is searched, between runs of the baseline. */
  rounds: { standard: 3, least: 1, most: 9 },
  /** Sales a second to take for the knee; 0 searches for it. */
  knee: { standard: 0, least: 0, most: 1_000_000 },
  terminals: { standard: 512, least: 4, most: 100_000 },
  connections: { standard: 64, least: 1, most: 2000 },
  /** Of the round trips of the relay; 0 measures all standard ones. */
  pairs: { standard: 0, least: 0, most: 10_000 },
  bytes: { standard: 0, least: 0, most: 1_000_000 },
  cards: { standard: 2000, least: 1, most: 1_000_000 },
  /** Rows to fill the tables with; 0 omits that part. */
  rows: { standard: 0, least: 0, most: 1_000_000_000 },
  /** Length of the memory run; 0 omits it. */
  minutes: { standard: 0, least: 0, most: 10_000 },
  /** Realms to hold in memory; 0 omits that part. */
  realms: { standard: 2000, least: 0, most: 20_000 },
  devices: { standard: 1_000_000, least: 100, most: 20_000_000 },
  organisations: { standard: 2000, least: 1, most: 9999 },
  /** Requests per second. */
  rate: { standard: 200, least: 1, most: 100_000 },
  /** Server processes on one database, compared with one; 1 omits that part. */
  processes: { standard: 1, least: 1, most: 4 },
  /** Authorised sales of a capture of all. */
  items: { standard: 100_000, least: 100, most: 10_000_000 },
  /** Of each answer of the acquirer host, in milliseconds. */
  latency: { standard: 0, least: 0, most: 5000 },
} as const;
type NumberName = keyof typeof numbers;

/** Benchmarks with other standard values. */
const ownStandards: Partial<Record<BenchName, Partial<Record<NumberName, number>>>> = {
  qr: { terminals: 5000 },
  relay: { terminals: 9000, seconds: 3 },
  reporting: { rows: 10_000_000, rate: 20, connections: 16, seconds: 30 },
  portal: { rows: 1_000_000 },
  codec: { seconds: 2 },
};

export type BenchOptions = Record<Exclude<NumberName, 'organisations'>, number> & {
  name: BenchName;
  organizations: number;
  /** The kinds of tokens to request, beside the baseline. */
  tokenParts: readonly TokenCaseName[];
  relayParts: readonly RelayPart[];
  seed: number;
  starts: boolean;
  profile: boolean;
  json: boolean;
  keepsFolder: boolean;
};

export const usage = `npm run bench -- sales [options]       rate of sales, compared with the same SQL alone, with a fixed line and with a bare server
npm run bench -- status [options]      rate of reads of finished transactions, compared with the rate of sales
npm run bench -- tokens [options]      issued tokens per CPU second, compared with Fastify and jose alone
npm run bench -- estate [options]      search and list devices in an estate with one million devices
npm run bench -- captureall [options]  capture of 100,000 authorised sales while new sales are made
npm run bench -- pin [options]         PIN translations of the software HSM per CPU second
npm run bench -- tracing [options]     CPU time that tracing adds to a sale
npm run bench -- webhooks [options]    webhook deliveries to ten endpoints, of which one is slow and one never answers
npm run bench -- qr [options]          QR payments with terminals that wait for events on open streams
npm run bench -- relay [options]       the Cloud Connector, compared with a WebSocket server without the platform
npm run bench -- reporting [options]   searches and summaries over ten million payments
npm run bench -- portal [options]      the portal in Chromium: download size, time to display, time to respond
npm run bench -- codec [options]       ISO 8583: encode, decode and frame a sale, compared with JSON of the same sale

  --seconds N       length of each step                (8; codec: 2; relay: 3; reporting: 30)
  --rounds N        searches for the highest rate (the knee), with a
                    run of the baselines before each; or rounds of
                    tokens                                           (3)
  --knee N          use this rate per second as the highest rate     (0: search for it)
  --terminals N     logical devices that the sales use               (512);
                    qr: terminals that wait for payments             (5000);
                    relay: terminals connected to the Cloud Connector (9000)
  --connections N   connections of the load generator                (64; reporting: 16)
  --cards N         different card numbers                           (2000)
  --rows N          sales: then insert this number of transactions
                    and measure the same rate again                  (0: do not);
                    reporting: payments                              (10000000);
                    portal: rows of a list                           (1000000)
  --minutes N       then continue for this number of minutes at 70 %
                    of the highest rate, and record the memory       (0: do not)
  --processes N     sales: compare the CPU time of a sale in this
                    number of server processes with one process,
                    at the same total rate                           (1: do not)
  --parts A,B       tokens: ${tokenCaseNames.filter((name) => name !== 'baseline').join(', ')};
                    relay: ${relayParts.join(', ')}            (all)
  --pairs N         relay: pairs that exchange messages              (0: 1, 50 and 1000)
  --bytes N         relay: bytes of each message                     (0: 512 and 4096)
  --realms N        tokens: realms for the memory measurement        (2000; 0: do not measure)
  --devices N       estate: devices                                  (1000000)
  --organisations N estate: organisations of these devices           (2000)
  --rate N          requests per second. estate: searches;
                    captureall: sales during the capture;
                    qr: events of the provider; relay: claims        (200);
                    reporting: requests                              (20)
  --items N         captureall: authorised sales                     (100000)
  --latency N       captureall: time until the acquirer host answers,
                    in milliseconds                                  (0)
  --no-starts       do not measure the times of a first and second start
  --profile         profile the CPU of the server during the step at
                    70 %, the first token type, one more import, or
                    the most pairs with the longest messages
  --seed N          seed of the random card numbers, start times
                    and choices                                      (a new one, printed)
  --keep            keep the folder with the database and logs
  --json            print the results as JSON on standard output
  --help

How to read the results: docs/how-to/operators/run-benchmarks.md
`;

const seedsMost = 2 ** 31;

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value < least || value > most) {
    throw new UsageError(`--${name} is a whole number from ${least} to ${most}`);
  }
  return value;
}

function readParts<Name extends string>(
  text: string | undefined,
  names: readonly Name[],
): readonly Name[] {
  if (text === undefined) return names;
  return text.split(',').map((part) => {
    const name = names.find((each) => each === part);
    if (name === undefined) {
      throw new UsageError(`--parts: ${part} is not one of ${names.join(', ')}`);
    }
    return name;
  });
}

function parse(args: string[]) {
  const texts = [...Object.keys(numbers), 'parts', 'seed'];
  const flags = ['no-starts', 'profile', 'keep', 'json', 'help'];
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' as const }]),
    ...flags.map((name) => [name, { type: 'boolean' as const }]),
  ]);
  const { values, positionals } = parseOptions({
    args: args.map((each) => (each === '-h' ? '--help' : each)),
    options,
    allowPositionals: true,
  });
  return { positionals, values: values as Record<string, string | boolean | undefined> };
}

/**
 * @param newSeed used if the command line names none
 * @returns undefined with `--help`
 * @throws UsageError
 */
export function readBenchOptions(args: string[], newSeed: number): BenchOptions | undefined {
  const { positionals, values } = parse(args);
  const text = (name: string) => values[name] as string | undefined;
  const isSet = (name: string) => values[name] === true;
  if (isSet('help')) return undefined;
  const [first, ...more] = positionals;
  const name = benchNames.find((each) => each === first);
  if (name === undefined)
    throw new UsageError(`the benchmark must be one of ${benchNames.join(', ')}`);
  if (more.length > 0) throw new UsageError(`unexpected: ${more.join(' ')}`);
  const read = (key: NumberName): number => {
    const { standard, least, most } = numbers[key];
    const value = text(key);
    return value === undefined
      ? (ownStandards[name]?.[key] ?? standard)
      : whole(key, value, least, most);
  };
  const entries = (Object.keys(numbers) as NumberName[]).map((key) => [key, read(key)]);
  const { organisations, ...counts } = Object.fromEntries(entries) as Record<NumberName, number>;
  const seed = text('seed');
  return {
    name,
    ...counts,
    organizations: organisations,
    tokenParts: name === 'tokens' ? readParts(text('parts'), tokenCaseNames) : tokenCaseNames,
    relayParts: name === 'relay' ? readParts(text('parts'), relayParts) : relayParts,
    seed: seed === undefined ? newSeed : whole('seed', seed, 0, seedsMost),
    starts: !isSet('no-starts'),
    profile: isSet('profile'),
    json: isSet('json'),
    keepsFolder: isSet('keep'),
  };
}
