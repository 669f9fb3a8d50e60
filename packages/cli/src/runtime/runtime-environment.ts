/** The process as the command sees it: variables, streams, clock and Ctrl+C. No other file uses `process`. */
import type { Readable } from 'node:stream';
import type { Clock } from './clock.ts';

/** A stream that may be a terminal. */
export type Terminal = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  on?(event: 'resize', listener: () => void): unknown;
  off?(event: 'resize', listener: () => void): unknown;
  write(text: string | Uint8Array, done?: (error?: Error | null) => void): boolean;
};

export type Keyboard = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

export type RuntimeEnvironment = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly stdin: Keyboard;
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** Aborted by the first Ctrl+C or by SIGTERM: running work is finished, and no new work begins. */
  readonly stopping: AbortSignal;
};
