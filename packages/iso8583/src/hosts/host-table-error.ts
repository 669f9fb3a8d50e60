// The error for a host table that cannot be used.

/** A mistake in a host table: its JSON pointer and the problem. */
export class HostTableError extends Error {
  override readonly name = 'HostTableError';
  /** The JSON pointer of the mistake. */
  readonly pointer: string;

  /**
   * @param pointer where in the document
   * @param problem what is wrong there
   */
  constructor(pointer: string, problem: string) {
    super(`${pointer === '' ? 'the host table' : pointer} ${problem}`);
    this.pointer = pointer;
  }
}

export function throwTableError(pointer: string, problem: string): never {
  throw new HostTableError(pointer, problem);
}
