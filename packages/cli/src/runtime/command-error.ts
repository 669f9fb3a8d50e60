/** The one error of the command: how it ends, what people read, and what `--json` tells besides. */
import { type ExitName, exitCodes } from './exit-codes.ts';

export class CommandFault extends Error {
  readonly exit: ExitName;
  /** Lines below the message: faulty members, hints, the request. */
  readonly more: readonly string[];
  /** Further members of the JSON document. */
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
    this.name = 'CommandFault';
    this.exit = exit;
    this.more = extra.more ?? [];
    this.facts = extra.facts ?? {};
  }

  get exitCode(): number {
    return exitCodes[this.exit];
  }
}

export function fail(exit: ExitName, message: string, ...more: string[]): never {
  throw new CommandFault(exit, message, { more });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it is closed to you',
  EISDIR: 'it is a folder',
};

/** Why a file cannot be read, in words where there are some. */
export function reasonOf(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? code;
}
