/** The error that ends a command: its exit code, its message and details for `--json`. */
import { type ExitName, exitCodes } from './exit-codes.ts';

export class CommandError extends Error {
  readonly exit: ExitName;
  /** Lines below the message: invalid members, advice, the request id. */
  readonly more: readonly string[];
  /** Further members of the JSON error document. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(
    exit: ExitName,
    message: string,
    extra: {
      more?: readonly string[];
      facts?: Readonly<Record<string, unknown>>;
      cause?: unknown;
    } = {},
  ) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'CommandError';
    this.exit = exit;
    this.more = extra.more ?? [];
    this.facts = extra.facts ?? {};
  }

  get exitCode(): number {
    return exitCodes[this.exit];
  }
}

export function fail(exit: ExitName, message: string, ...more: string[]): never {
  throw new CommandError(exit, message, { more });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  EACCES: 'you have no permission to read it',
  EISDIR: 'it is a directory',
};

/** The reason why a file cannot be read. */
export function describeFileError(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? code;
}
