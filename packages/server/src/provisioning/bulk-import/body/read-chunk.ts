// Reads the lines of a body in chunks, and reports the position at which a chunk ends.
import type { ProblemError } from '@switchyard/contract';
import { SourceEnd, type SourceLine } from './import-body.ts';
import { type ReadLine, readLine } from './parse-line.ts';

/** The lines of one transaction: the work that a crash can lose, and the time that others wait. */
export const chunkLines = 500;

export type Source = AsyncGenerator<SourceLine>;

export type Batch = {
  readonly lines: readonly ReadLine[];
  /** The number of bytes of the body up to the end of the last line. */
  readonly end: number;
  /** True if no line follows. */
  readonly isLast: boolean;
  /** The reason why the rest of the body cannot be read. */
  readonly refusal?: ProblemError;
};

/** @param end the end position of the previous batch */
export async function nextBatch(source: Source, end: number): Promise<Batch> {
  const lines: ReadLine[] = [];
  let reached = end;
  try {
    while (lines.length < chunkLines) {
      const { value, done } = await source.next();
      if (done === true) return { lines, end: reached, isLast: true };
      lines.push(readLine(value));
      reached = value.end;
    }
  } catch (error) {
    if (!(error instanceof SourceEnd)) throw error;
    return { lines, end: reached, isLast: false, refusal: error.refusal };
  }
  return { lines, end: reached, isLast: false };
}

/** Skips the lines before `end`; returns false if no line of this body ends there. */
export async function passTo(source: Source, end: number): Promise<boolean> {
  try {
    for (let at = 0; at < end; ) {
      const { value, done } = await source.next();
      if (done === true || value.end > end) return false;
      at = value.end;
    }
    return true;
  } catch (error) {
    if (error instanceof SourceEnd) return false;
    throw error;
  }
}
