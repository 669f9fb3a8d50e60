// Runs the fault tests round after round, two at a time, until the time is over.
import { basename } from 'node:path';
import type { Fault, TestRun } from '../test-runner/run-batches.ts';

export type Round = {
  readonly files: readonly string[];
  readonly seed: number;
  /** Earlier than now where it is to end. */
  readonly endsAt: () => number;
  readonly now: () => number;
  /** Runs one file under one seed. */
  readonly run: (file: string, seed: number) => Promise<TestRun>;
  readonly say: (line: string) => void;
};

export type Rounds = {
  readonly faults: readonly Fault[];
  /** How often each test ran. */
  readonly runs: ReadonlyMap<string, number>;
};

const lanes = 2;

export const nameOf = (file: string): string => basename(file, '.test.ts');

/**
 * Each test runs once at least, however short the time is; behind that none begins once it is over.
 * A fault does not end the run: the others may find more.
 */
export async function runRounds({ files, seed, endsAt, now, run, say }: Round): Promise<Rounds> {
  const faults: Fault[] = [];
  const runs = new Map<string, number>();
  let begun = 0;
  function next(): { file: string; seed: number } | undefined {
    if (begun >= files.length && now() >= endsAt()) return undefined;
    const file = files[begun % files.length];
    const round = Math.floor(begun / files.length);
    begun += 1;
    return file === undefined ? undefined : { file, seed: seed + round };
  }
  async function lane(): Promise<void> {
    for (let task = next(); task !== undefined; task = next()) {
      const began = now();
      const done = await run(task.file, task.seed);
      const name = nameOf(task.file);
      runs.set(name, (runs.get(name) ?? 0) + 1);
      faults.push(...done.faults);
      const took = Math.round((now() - began) / 1000);
      const left = Math.max(0, Math.ceil((endsAt() - now()) / 60_000));
      const verdict = done.faults.length === 0 ? 'well' : 'FAILED';
      say(`${name} (seed ${task.seed}): ${verdict} after ${took} s; ${left} min left`);
      if (done.faults.length > 0) {
        say(
          `again: TEST_FAULTS=full TEST_SILENCE_SECONDS=1500 TEST_SEED=${task.seed} npm test -- ${name}`,
        );
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return { faults, runs };
}
