// How much the fault tests do: a little in `npm test`, all of it by `npm run faults`; and by which seed.

/** What decides every random choice of a run; `TEST_SEED` runs it again. */
export const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

const isFull = process.env['TEST_FAULTS'] === 'full';

/** @example const kills = faultSize({ small: 30, full: 125 }); */
export function faultSize<Size>({ small, full }: { small: Size; full: Size }): Size {
  return isFull ? full : small;
}

/** What a run did, for whoever reads its output. */
export function tell(line: string): void {
  process.stdout.write(`  ${line} (seed ${seed})\n`);
}
