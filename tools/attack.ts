// `npm run attack`: attacks platforms of its own as a client from outside, and reports the attacks that succeeded.
import { randomInt } from 'node:crypto';
import { createSeededRandom } from '../packages/server/test/support/seeded-random.ts';
import { allAttacks } from './attack/all-attacks.ts';
import { type Outcome, runAttack } from './attack/attack.ts';
import { type AttackOptions, maxSeed, readOptions, usage } from './attack/options.ts';
import { createPlatforms } from './attack/platforms.ts';
import { describeOutcome, summarize } from './attack/report.ts';
import { UsageError } from './parse-options.ts';

const exitCodes = { attackSucceeded: 1, wrongUsage: 2, interrupted: 130 };

async function run({ only, seed }: AttackOptions): Promise<number> {
  let isInterrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isInterrupted = true;
    });
  }
  const attacks = allAttacks.filter(({ item }) => only.length === 0 || only.includes(item));
  console.log(`${attacks.length} attacks, seed ${seed}\n`);
  const platforms = createPlatforms();
  const outcomes: Outcome[] = [];
  try {
    for (const attack of attacks) {
      if (isInterrupted) return exitCodes.interrupted;
      // The index among all attacks: `--only` repeats the numbers of a whole run.
      const random = createSeededRandom(seed + allAttacks.indexOf(attack));
      const outcome = await runAttack(attack, platforms, random);
      console.log(`${describeOutcome(outcome)}\n`);
      outcomes.push(outcome);
    }
  } finally {
    await platforms.close();
  }
  console.log(summarize(outcomes));
  const hasFailures = outcomes.some(({ failures }) => failures.length > 0);
  console.log(hasFailures ? '\nBROKEN' : '\nEverything held');
  return hasFailures ? exitCodes.attackSucceeded : 0;
}

try {
  const items = new Set(allAttacks.map(({ item }) => item));
  const options = readOptions(process.argv.slice(2), items, randomInt(maxSeed));
  if (options === undefined) process.stdout.write(usage);
  else if (options.list) for (const { item, name } of allAttacks) console.log(`${item}  ${name}`);
  else process.exitCode = await run(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`attack: ${error.message}\n\n${usage}`);
  process.exitCode = exitCodes.wrongUsage;
}
