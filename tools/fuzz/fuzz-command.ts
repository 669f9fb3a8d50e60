// `npm run fuzz`: runs millions of inputs through the parsers of messages, chip data and tracks; findings can be repeated.
import { randomInt } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { parseOptions, UsageError } from '../parse-options.ts';
import { type FuzzResult, fuzz } from './watch-parser-worker.ts';

const defaultInputs = 5_000_000;
const inputsMax = 2_000_000_000;
const seedMax = 2 ** 31 - 1;
const exitCodes = { found: 1, wrongUsage: 2 };

const usage = `npm run fuzz [-- options]

Sends random, valid and damaged inputs to the parsers of ISO 8583 messages and frames, BER-TLV,
chip data, tracks and Nexo messages. A parser must not crash, hang, or return a value that the input
does not contain.

  --inputs N   number of inputs                          (${defaultInputs})
  --seed N     seed of the random inputs                 (a new seed, which the command prints)
  --only N     run only the input with this number, which a finding shows
  --help

Exit codes: 0 nothing found, 1 a finding, 2 wrong usage.
`;

function readWholeNumber(
  name: string,
  text: string | undefined,
  defaultValue: number,
  maximum: number,
): number {
  if (text === undefined) return defaultValue;
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value > maximum) {
    throw new UsageError(`--${name} is a whole number up to ${maximum}`);
  }
  return value;
}

function printResult({ tallies, finding, seed, inputs, durationMs }: FuzzResult): void {
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
  const { values } = parseOptions({
    args,
    options: {
      inputs: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const seed = readWholeNumber('seed', values.seed, randomInt(seedMax), seedMax);
  const only =
    values.only === undefined ? undefined : readWholeNumber('only', values.only, 0, inputsMax);
  const inputs =
    only === undefined ? readWholeNumber('inputs', values.inputs, defaultInputs, inputsMax) : 1;
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
  printResult(fuzzed);
  return fuzzed.finding === undefined ? 0 : exitCodes.found;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`fuzz: ${error.message}\n\n${usage}`);
  process.exitCode = exitCodes.wrongUsage;
}
