// `npm run fuzz`: millions of inputs for the parsers of messages, chip data, tracks and tills' requests; a finding can be had again.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { defined } from '@switchyard/contract';
import { type Fuzzed, fuzz } from './watch-parser-worker.ts';

const inputsStandard = 5_000_000;
const inputsMost = 2_000_000_000;
const seedsMost = 2 ** 31 - 1;
const exitCodes = { found: 1, wrongUsage: 2 };

const usage = `npm run fuzz [-- options]

Feeds noise, sound inputs and spoilt ones to the readers of ISO 8583 messages and frames, BER-TLV,
chip data, tracks and Nexo messages. None may crash, hang, or read what the bytes do not say.

  --inputs N   how many                                  (${inputsStandard})
  --seed N     of all inputs                             (a new one, printed)
  --only N     this one input, as a finding names it
  --help

Exit codes: 0 nothing found, 1 a finding, 2 wrong usage.
`;

class UsageFault extends Error {}

function whole(name: string, text: string | undefined, standard: number, most: number): number {
  if (text === undefined) return standard;
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value > most) {
    throw new UsageFault(`--${name} is a whole number up to ${most}`);
  }
  return value;
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        inputs: { type: 'string' },
        seed: { type: 'string' },
        only: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

function tell({ tallies, finding, seed, inputs, durationMs }: Fuzzed): void {
  for (const { name, read, refused } of tallies) {
    console.log(
      `  ${name.padEnd(38)}${String(read).padStart(9)} read${String(refused).padStart(10)} refused`,
    );
  }
  const perSecond = Math.round((inputs / durationMs) * 1000);
  console.log(
    `${inputs} inputs, seed ${seed}, ${(durationMs / 1000).toFixed(1)} s, ${perSecond}/s`,
  );
  if (finding === undefined) return;
  console.log(`\n${finding.target}: ${finding.fault}\n  input ${finding.input}`);
  console.log(`  again: npm run fuzz -- --seed ${seed} --only ${finding.index}`);
}

async function main(args: string[]): Promise<number> {
  const values = parse(args);
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const seed = whole('seed', values.seed, randomInt(seedsMost), seedsMost);
  const only = values.only === undefined ? undefined : whole('only', values.only, 0, inputsMost);
  const inputs =
    only === undefined ? whole('inputs', values.inputs, inputsStandard, inputsMost) : 1;
  const progress = (done: number) => {
    if (process.stderr.isTTY) process.stderr.write(`\r  ${done} of ${inputs}`);
  };
  const fuzzed = await fuzz({
    seed,
    inputs,
    progress,
    ...defined({ from: only }),
  });
  if (process.stderr.isTTY) process.stderr.write('\r');
  tell(fuzzed);
  return fuzzed.finding === undefined ? 0 : exitCodes.found;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageFault)) throw error;
  process.stderr.write(`fuzz: ${error.message}\n\n${usage}`);
  process.exitCode = exitCodes.wrongUsage;
}
