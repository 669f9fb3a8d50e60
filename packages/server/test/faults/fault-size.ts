// The size of the fault tests: small in `npm test`, full in `npm run faults`; and the random seed.

/** The seed of all random choices in a run; `TEST_SEED` repeats a run. */
export const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

const isFull = process.env['TEST_FAULTS'] === 'full';

/** @example const kills = faultSize({ small: 30, full: 125 }); */
export function sizeOfRun<Size>({ small, full }: { small: Size; full: Size }): Size {
  return isFull ? full : small;
}

/** Prints the result of a run. */
export function printResult(line: string): void {
  process.stdout.write(`  ${line} (seed ${seed})\n`);
}
