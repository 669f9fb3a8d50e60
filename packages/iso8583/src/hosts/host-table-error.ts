// The error for a host table that cannot be used.

/** A mistake in a host table: its JSON pointer, and the problem as the rest of a sentence. */
export type TableMistake = { readonly pointer: string; readonly problem: string };

const sentence = ({ pointer, problem }: TableMistake): string =>
  `${pointer === '' ? 'the host table' : pointer} ${problem}`;

/** Mistakes in a host table. The message and the pointer are those of the first one. */
export class HostTableError extends Error {
  override readonly name = 'HostTableError';
  /** The JSON pointer of the first mistake. */
  readonly pointer: string;
  /** All mistakes that were found. */
  readonly mistakes: readonly TableMistake[];

  /**
   * @param first where in the document, and what is wrong there
   * @param others further mistakes
   */
  constructor(first: TableMistake, ...others: readonly TableMistake[]) {
    super(sentence(first));
    this.pointer = first.pointer;
    this.mistakes = [first, ...others];
  }
}

export function throwTableError(pointer: string, problem: string): never {
  throw new HostTableError({ pointer, problem });
}

/**
 * Runs all checks.
 *
 * @throws HostTableError with the mistakes of all of them
 */
export function runChecks(checks: Iterable<() => void>): void {
  const mistakes: TableMistake[] = [];
  for (const check of checks) {
    try {
      check();
    } catch (error) {
      if (!(error instanceof HostTableError)) throw error;
      mistakes.push(...error.mistakes);
    }
  }
  const [first, ...others] = mistakes;
  if (first !== undefined) throw new HostTableError(first, ...others);
}
