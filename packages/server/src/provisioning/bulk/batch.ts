// Takes the lines of a body a chunk at a time, and says where a chunk ends.
import type { Refusal } from '@switchyard/contract';
import { chunkLines } from './chunk.ts';
import { type ReadLine, readLine } from './line.ts';
import { SourceEnd, type SourceLine } from './source.ts';

export type Source = AsyncGenerator<SourceLine>;

export type Batch = {
  readonly lines: readonly ReadLine[];
  /** How many bytes of the body lie before the end of its last line. */
  readonly end: number;
  /** Nothing comes behind it. */
  readonly isLast: boolean;
  /** Why nothing behind it can be read. */
  readonly refusal?: Refusal;
};

/** @param end where the batch before it ended */
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

/** Reads up to a place where a line ended before; false where no line of this body ends there. */
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
