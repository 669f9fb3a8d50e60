// Reads JSON Lines, and parses each line as strictly as the body of a single request.
import { bulkLimits, ProblemError } from '@switchyard/contract';
import { parseStrictJson } from '../../../http/index.ts';
import { type BodyLine, type ByteStream, createTooLongProblem } from './import-body.ts';

const newline = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** Space, tab and carriage return. */
const blank = new Set([0x20, 0x09, 0x0d]);

const isBlank = (text: Buffer) => text.every((byte) => blank.has(byte));

function parseLine(text: Buffer): BodyLine['content'] {
  try {
    return { value: parseStrictJson(text) };
  } catch (error) {
    if (error instanceof ProblemError) return { problem: error };
    throw error;
  }
}

/** Collects the parts of one line; for a line that is too long, only its length. */
function createLineBuffer() {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    isEmpty: () => length === 0,
    add(part: Buffer): void {
      length += part.length;
      if (length > bulkLimits.lineBytes) parts = [];
      else parts.push(part);
    },
    /** Returns the collected line and starts a new one; undefined for a blank line. */
    finishLine(isFirst: boolean): BodyLine['content'] | undefined {
      const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      const isTooLong = length > bulkLimits.lineBytes;
      parts = [];
      length = 0;
      if (isTooLong) return { problem: createTooLongProblem('The line') };
      const hasByteOrderMark =
        isFirst && whole.subarray(0, byteOrderMark.length).equals(byteOrderMark);
      const text = hasByteOrderMark ? whole.subarray(byteOrderMark.length) : whole;
      return isBlank(text) ? undefined : parseLine(text);
    },
  };
}

/** Blank lines are counted, but get no result. */
export async function* readJsonLines(bytes: ByteStream): AsyncGenerator<BodyLine> {
  const current = createLineBuffer();
  let line = 1;
  let bytesBefore = 0;
  for await (const part of bytes) {
    let start = 0;
    for (let at = part.indexOf(newline); at >= 0; at = part.indexOf(newline, start)) {
      const isEmpty = at === start && current.isEmpty();
      if (!isEmpty) current.add(part.subarray(start, at));
      start = at + 1;
      const content = isEmpty ? undefined : current.finishLine(line === 1);
      if (content !== undefined) yield { line, end: bytesBefore + start, content };
      line += 1;
    }
    current.add(part.subarray(start));
    bytesBefore += part.length;
  }
  const content = current.finishLine(line === 1);
  if (content !== undefined) yield { line, end: bytesBefore, content };
}
