// `npm run faults`: runs the fault tests at full size, with new seeds, for a given time.
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { UsageError } from '../parse-options.ts';
import { repositoryRoot } from '../repository-root.ts';
import { runTestFiles } from '../test-runner/run-test-files.ts';
import { type FaultOptions, readFaultOptions, usage } from './fault-options.ts';
import { runRounds, testNameOf } from './fault-test-rounds.ts';

const exitCodes = { wrongUsage: 2, interrupted: 130 };
const seedsMost = 900_000;
const fileLimitMs = 30 * 60_000;
/** The test that takes longest first, so that it does not run alone at the end. */
const pattern =
  'packages/server/test/**/{fault-*,*-faults,payment-model,ledger-agreement,refused-connections,capture-all-items-and-dry-run}.test.ts';
const longestTest = 'fault-server-killed';

function testFiles(only: readonly string[]): string[] {
  const all = globSync(pattern, { cwd: repositoryRoot }).sort();
  const files = all.filter((file) => only.length === 0 || only.some((part) => file.includes(part)));
  if (files.length === 0)
    throw new UsageError(`no test name contains ${only.join(' or ')}; --list shows the names`);
  return files.sort(
    (one, other) => Number(other.includes(longestTest)) - Number(one.includes(longestTest)),
  );
}

async function run({ minutes, seed, only }: FaultOptions): Promise<number> {
  let interrupted = false;
  // The runner passes the signal on, and the tests stop the processes that they started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted = true;
    });
  }
  const files = testFiles(only);
  console.log(`${files.length} tests for ${minutes} min, first seed ${seed}`);
  const endsAt = Date.now() + minutes * 60_000;
  const { faults, runs } = await runRounds({
    files,
    seed,
    endsAt: () => (interrupted ? 0 : endsAt),
    now: () => Date.now(),
    run: (file, roundSeed) => {
      const env = {
        TEST_SIZE: 'full',
        TEST_SEED: String(roundSeed),
        TEST_SILENCE_SECONDS: '1500',
      };
      return runTestFiles([file], {
        runnerOptions: [],
        limitMs: fileLimitMs,
        startLimitMs: fileLimitMs,
        env,
      });
    },
    print: (line) => console.log(line),
  });
  console.log('');
  for (const [name, times] of runs) console.log(`  ${name.padEnd(24)}${times} times`);
  for (const { where, text } of faults) console.log(`✗ ${where}  ${text}`);
  if (interrupted) return exitCodes.interrupted;
  console.log(faults.length === 0 ? 'All well' : 'Failed');
  return faults.length === 0 ? 0 : 1;
}

try {
  const options = readFaultOptions(process.argv.slice(2), randomInt(seedsMost));
  if (options === undefined) process.stdout.write(usage);
  else if (options.list) for (const file of testFiles(options.only)) console.log(testNameOf(file));
  else process.exitCode = await run(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`faults: ${error.message}\n\n${usage}`);
  process.exitCode = exitCodes.wrongUsage;
}
