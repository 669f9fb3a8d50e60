// Reads a trace of JSON lines: one object with the bytes of a message in hexadecimal in each line.
import { redactText } from '../../../packages/server/src/platform/index.ts';
import type { RecordedMessage, ReportFault } from './recorded-message.ts';

export type TraceLine = Omit<RecordedMessage, 'payload'> & {
  readonly bytes: Buffer;
  /** The bytes begin with the length and the TPDU, and can be several messages. */
  readonly isFramed: boolean;
};

const maxLineBytes = 256 * 1024;
const lineFeed = 10;
const hexPattern = /^(?:[0-9a-f]{2})+$/i;
const connectionPattern = /^[\w.:[\]-]{1,64}$/;

/** The lines of a stream with their numbers. A line that is too long is left out, in bounded memory. */
async function* splitLines(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ number: number; text: string | undefined }> {
  let number = 1;
  let parts: Buffer[] = [];
  let bytes = 0;
  const finish = () => {
    const text = bytes > maxLineBytes ? undefined : Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    bytes = 0;
    return { number: number++, text };
  };
  const collect = (part: Buffer) => {
    bytes += part.length;
    if (bytes <= maxLineBytes) parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(lineFeed, start);
      if (end === -1) break;
      collect(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    collect(chunk.subarray(start));
  }
  yield finish();
}

/** The object of a line; undefined if the line is no object. The error of the parser would repeat the line. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object'
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 3339, or epoch ms. */
function parseTime(time: unknown): number | undefined {
  const atMs = typeof time === 'string' ? Date.parse(time) : time;
  return typeof atMs === 'number' && Number.isFinite(atMs) ? atMs : undefined;
}

function parseLine(text: string): Omit<TraceLine, 'position'> | string {
  const line = parseObject(text);
  if (line === undefined) return 'the line is not a JSON object';
  const { time, direction, connection = '1', frame, payload } = line;
  if (direction !== 'ToHost' && direction !== 'FromHost')
    return 'the member direction must be ToHost or FromHost';
  const atMs = parseTime(time);
  if (time !== undefined && atMs === undefined) return 'the member time must be an RFC 3339 time';
  if (!connectionPattern.test(String(connection)))
    return 'the member connection must be 1 to 64 letters, digits and . : - _ [ ]';
  if ((frame === undefined) === (payload === undefined))
    return 'the line must have frame (with length and TPDU) or payload (without)';
  const hex = frame ?? payload;
  if (typeof hex !== 'string' || !hexPattern.test(hex))
    return 'frame or payload must be an even number of hexadecimal digits';
  return {
    atMs,
    direction,
    connection: redactText(String(connection)),
    bytes: Buffer.from(hex, 'hex'),
    isFramed: frame !== undefined,
  };
}

/** @param report gets the lines without a message */
export async function* readJsonLines(
  chunks: AsyncIterable<Buffer>,
  report: ReportFault,
): AsyncGenerator<TraceLine> {
  for await (const { number, text } of splitLines(chunks)) {
    if (text === '') continue;
    const position = `line ${number}`;
    const line =
      text === undefined ? `the line has more than ${maxLineBytes} bytes` : parseLine(text);
    if (typeof line === 'string') report({ reason: line, position });
    else yield { ...line, position };
  }
}
