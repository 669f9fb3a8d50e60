// Reads JSON Lines: one value a line, each as strict as the body of a single request.
import { bulkLimits, Refusal } from '@switchyard/contract';
import { parseStrictJson } from '../../http/index.ts';
import { type Bytes, type SourceLine, tooLong } from './source.ts';

const newline = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** Spaces, tabs and carriage returns. */
const blank = new Set([0x20, 0x09, 0x0d]);

const isBlank = (text: Buffer) => text.every((byte) => blank.has(byte));

function read(text: Buffer): SourceLine['said'] {
  try {
    return { value: parseStrictJson(text) };
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

/** The parts of one line; of a line that is too long nothing but its length is kept. */
function createLine() {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    isEmpty: () => length === 0,
    add(part: Buffer): void {
      length += part.length;
      if (length > bulkLimits.lineBytes) parts = [];
      else parts.push(part);
    },
    /** Gives what was added, and begins anew; nothing for a blank line. */
    take(isFirst: boolean): SourceLine['said'] | undefined {
      const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      const isTooLong = length > bulkLimits.lineBytes;
      parts = [];
      length = 0;
      if (isTooLong) return { refusal: tooLong('The line') };
      const marked = isFirst && whole.subarray(0, byteOrderMark.length).equals(byteOrderMark);
      const text = marked ? whole.subarray(byteOrderMark.length) : whole;
      return isBlank(text) ? undefined : read(text);
    },
  };
}

/** Blank lines count as lines and are no answer's. */
export async function* readJsonLines(bytes: Bytes): AsyncGenerator<SourceLine> {
  const current = createLine();
  let line = 1;
  let passed = 0;
  for await (const part of bytes) {
    let start = 0;
    for (let at = part.indexOf(newline); at >= 0; at = part.indexOf(newline, start)) {
      const isEmpty = at === start && current.isEmpty();
      if (!isEmpty) current.add(part.subarray(start, at));
      start = at + 1;
      const said = isEmpty ? undefined : current.take(line === 1);
      if (said !== undefined) yield { line, end: passed + start, said };
      line += 1;
    }
    current.add(part.subarray(start));
    passed += part.length;
  }
  const said = current.take(line === 1);
  if (said !== undefined) yield { line, end: passed, said };
}
