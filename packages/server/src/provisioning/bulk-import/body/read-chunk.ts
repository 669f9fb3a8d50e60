// Reads the lines of a body in chunks, and reports the position at which a chunk ends.
import type { ProblemError } from '@switchyard/contract';
import { type BodyLine, UnreadableBodyError } from './import-body.ts';
import { type ParsedLine, parseBodyLine } from './parse-line.ts';

/** The lines of one transaction: the work that a crash can lose, and the time that others wait. */
export const chunkLinesMax = 500;

export type BodyLines = AsyncGenerator<BodyLine>;

export type LineChunk = {
  readonly lines: readonly ParsedLine[];
  /** The number of bytes of the body up to the end of the last line. */
  readonly end: number;
  /** True if no line follows. */
  readonly isLast: boolean;
  /** The reason why the rest of the body cannot be read. */
  readonly problem?: ProblemError;
};

/** @param end the end position of the previous batch */
export async function readChunk(source: BodyLines, end: number): Promise<LineChunk> {
  const lines: ParsedLine[] = [];
  let reached = end;
  try {
    while (lines.length < chunkLinesMax) {
      const { value, done } = await source.next();
      if (done === true) return { lines, end: reached, isLast: true };
      lines.push(parseBodyLine(value));
      reached = value.end;
    }
  } catch (error) {
    if (!(error instanceof UnreadableBodyError)) throw error;
    return { lines, end: reached, isLast: false, problem: error.problem };
  }
  return { lines, end: reached, isLast: false };
}

/** Skips the lines before `end`; returns false if no line of this body ends there. */
export async function skipTo(source: BodyLines, end: number): Promise<boolean> {
  try {
    for (let at = 0; at < end; ) {
      const { value, done } = await source.next();
      if (done === true || value.end > end) return false;
      at = value.end;
    }
    return true;
  } catch (error) {
    if (error instanceof UnreadableBodyError) return false;
    throw error;
  }
}
