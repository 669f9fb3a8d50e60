// The files of the ledger: append-only JSON Lines, cut into segments of bounded size.
import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry, LedgerTotals } from './ledger-entries.ts';

/** The first line of a segment: the totals of all earlier segments. */
export type SegmentOpening = { segment: number; entries: number; totals: LedgerTotals[] };

const NAME = /^ledger-([0-9]{6})\.jsonl$/;
const LINE_FEED = 0x0a;

export function segmentPath(directory: string, segment: number): string {
  return join(directory, `ledger-${String(segment).padStart(6, '0')}.jsonl`);
}

/** The numbers of the segments, oldest first. */
export function listSegments(directory: string): number[] {
  if (!existsSync(directory)) return [];
  const numbers = readdirSync(directory).map((name) => Number(NAME.exec(name)?.[1]));
  return numbers.filter((segment) => Number.isInteger(segment)).sort((a, b) => a - b);
}

/**
 * Removes an incomplete last line of a killed process, which was never answered. Returns the remaining
 * number of bytes.
 */
export function removeTornLine(path: string): number {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  if (end < bytes.length) truncateSync(path, end);
  return end;
}

function parseLine(line: string, path: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`${path}: line ${number} is not JSON`);
  }
}

/**
 * Reads a segment; an unfinished last line is left out. A segment that was only just begun has no
 * opening line yet and is `undefined`. Throws where a line cannot be read.
 */
export function readSegment(
  path: string,
): { opening: SegmentOpening; entries: LedgerEntry[] } | undefined {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const parsed = lines.map((line, index) => parseLine(line, path, index + 1));
  const [opening, ...entries] = parsed as [SegmentOpening | undefined, ...LedgerEntry[]];
  return opening === undefined ? undefined : { opening, entries };
}

/**
 * Finds the newest entry that contains a text, in the segments before one. It reads files, and is used only for rare messages about entries that are no longer in memory.
 */
export function findLastEntry(
  directory: string,
  before: number,
  text: string,
): LedgerEntry | undefined {
  const older = listSegments(directory).filter((segment) => segment < before);
  for (const segment of older.reverse()) {
    const bytes = readFileSync(segmentPath(directory, segment));
    const at = bytes.lastIndexOf(text);
    if (at === -1) continue;
    const start = bytes.lastIndexOf(LINE_FEED, at) + 1;
    const end = bytes.indexOf(LINE_FEED, at);
    return JSON.parse(bytes.toString('utf8', start, end)) as LedgerEntry;
  }
  return undefined;
}
