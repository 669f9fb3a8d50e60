// How much the long tests do: little in `npm test`, more in a whole run, most in `npm run faults`; and the random seed.

/** The seed of all random choices in a run; `TEST_SEED` repeats a run. */
export const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

/** `whole` is set by `npm test -- --whole`, `full` by `npm run faults`. */
const size = process.env['TEST_SIZE'] ?? 'small';

type Sizes<Size> = { small: Size; whole?: Size; full: Size };

/** @example const kills = sizeOfRun({ small: 3, whole: 30, full: 90 }); */
export function sizeOfRun<Size>({ small, whole, full }: Sizes<Size>): Size {
  if (size === 'full') return full;
  return size === 'whole' ? (whole ?? small) : small;
}

/** Prints the result of a run. */
export function printResult(line: string): void {
  process.stdout.write(`  ${line} (seed ${seed})\n`);
}
