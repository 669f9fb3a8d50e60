// Runs the fault tests round after round, two at a time, until the time is over.
import { basename } from 'node:path';
import type { TestRun, TestRunFault } from '../test-runner/run-test-files.ts';

export type RoundsOptions = {
  readonly files: readonly string[];
  readonly seed: number;
  /** Earlier than now where it is to end. */
  readonly endsAt: () => number;
  readonly now: () => number;
  /** Runs one file under one seed. */
  readonly run: (file: string, seed: number) => Promise<TestRun>;
  readonly print: (line: string) => void;
};

export type RoundsResult = {
  readonly faults: readonly TestRunFault[];
  /** How often each test ran. */
  readonly runs: ReadonlyMap<string, number>;
};

const concurrentTests = 2;

export const testNameOf = (file: string): string => basename(file, '.test.ts');

/**
 * Each test runs once at least, however short the time is; behind that none begins once it is over.
 * A fault does not end the run: the others may find more.
 */
export async function runRounds({
  files,
  seed,
  endsAt,
  now,
  run,
  print,
}: RoundsOptions): Promise<RoundsResult> {
  const faults: TestRunFault[] = [];
  const runs = new Map<string, number>();
  let startedCount = 0;
  function nextTask(): { file: string; seed: number } | undefined {
    if (startedCount >= files.length && now() >= endsAt()) return undefined;
    const file = files[startedCount % files.length];
    const round = Math.floor(startedCount / files.length);
    startedCount += 1;
    return file === undefined ? undefined : { file, seed: seed + round };
  }
  async function runTests(): Promise<void> {
    for (let task = nextTask(); task !== undefined; task = nextTask()) {
      const startedAt = now();
      const result = await run(task.file, task.seed);
      const name = testNameOf(task.file);
      runs.set(name, (runs.get(name) ?? 0) + 1);
      faults.push(...result.faults);
      const durationSeconds = Math.round((now() - startedAt) / 1000);
      const minutesLeft = Math.max(0, Math.ceil((endsAt() - now()) / 60_000));
      const outcome = result.faults.length === 0 ? 'well' : 'FAILED';
      print(
        `${name} (seed ${task.seed}): ${outcome} after ${durationSeconds} s; ${minutesLeft} min left`,
      );
      if (result.faults.length > 0) {
        print(
          `again: TEST_SIZE=full TEST_SILENCE_SECONDS=1500 TEST_SEED=${task.seed} npm test -- ${name}`,
        );
      }
    }
  }
  await Promise.all(Array.from({ length: concurrentTests }, runTests));
  return { faults, runs };
}
