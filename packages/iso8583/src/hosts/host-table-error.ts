// The error for a host table that cannot be used.

/** A fault in a host table: its place and the problem. */
export class HostTableError extends Error {
  override readonly name = 'HostTableError';
  /** A JSON pointer. */
  readonly pointer: string;

  /**
   * @param pointer where in the document
   * @param problem what is wrong there
   */
  constructor(pointer: string, problem: string) {
    super(`${pointer === '' ? '/' : pointer} ${problem}`);
    this.pointer = pointer;
  }
}

export function fault(pointer: string, problem: string): never {
  throw new HostTableError(pointer, problem);
}
