// Reads comma-separated values (RFC 4180): each row is one line of an import.
import { isUtf8 } from 'node:buffer';
import { bulkLimits, ProblemError } from '@switchyard/contract';
import { buildLine, type Column, parseColumns } from './csv-columns.ts';
import {
  type BodyLine,
  type ByteStream,
  createTooLongProblem,
  UnreadableBodyError,
} from './import-body.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** The byte order marks of UTF-16. */
const utf16Marks = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

type CsvRow = { readonly cells: readonly Buffer[]; readonly end: number };

const malformedCsv = (detail: string) => new ProblemError('malformed_csv', detail);

/** Counts the lines in the bytes that do not form a complete row yet. */
function createCsvPosition() {
  let pending: Buffer = Buffer.alloc(0);
  let from = 0;
  let line = 1;

  /** Skips the blank lines before a row. */
  function rowStartLine(): number {
    let at = 0;
    let startLine = line;
    for (; pending[at] === newline || pending[at] === carriageReturn; at += 1) {
      if (pending[at] === newline) startLine += 1;
    }
    return startLine;
  }

  return {
    add(part: Buffer): void {
      pending = pending.length === 0 ? part : Buffer.concat([pending, part]);
    },
    /** Returns the line at which the row that ends at `end` begins. */
    advanceTo(end: number): number {
      const startLine = rowStartLine();
      const rowBytes = pending.subarray(0, end - from);
      for (const byte of rowBytes) if (byte === newline) line += 1;
      pending = pending.subarray(rowBytes.length);
      from = end;
      return startLine;
    },
    beginning: rowStartLine,
    /** Returns the line of the quote that is never closed. */
    openQuoteLine(): number {
      let open = line;
      let at = line;
      let isOpen = false;
      for (const byte of pending) {
        if (byte === newline) at += 1;
        if (byte !== quote) continue;
        isOpen = !isOpen;
        if (isOpen) open = at;
      }
      return open;
    },
  };
}

type CsvPosition = ReturnType<typeof createCsvPosition>;

/** Translates an error of the CSV library to a ProblemError. */
function toCsvProblem(error: unknown, position: CsvPosition): ProblemError | undefined {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return malformedCsv(
        `The quote that opens on line ${position.openQuoteLine()} is never closed.`,
      );
    case 'CSV_MAX_RECORD_SIZE':
      return malformedCsv(
        `The row that begins on line ${position.beginning()} is longer than ${bulkLimits.lineBytes} bytes; a quote may not be closed.`,
      );
    case 'INVALID_OPENING_QUOTE':
    case 'CSV_INVALID_CLOSING_QUOTE':
      return malformedCsv(
        `In the row that begins on line ${position.beginning()} a cell contains an unescaped quote; put the cell in quotes and double the quotes in it.`,
      );
    default:
      return undefined;
  }
}

/** Yields rows as they arrive; rows that precede an error come before the error. */
async function* readRows(bytes: ByteStream, position: CsvPosition): AsyncGenerator<CsvRow> {
  const rows: CsvRow[] = [];
  const { parse } = await import('csv-parse');
  const parser = parse({
    encoding: null,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: bulkLimits.lineBytes,
    on_record(cells: unknown, { bytes: end }) {
      rows.push({ cells: cells as Buffer[], end });
      return null;
    },
  });
  let failure: unknown;
  parser.on('error', (error: unknown) => {
    failure = error;
  });
  const runParser = (call: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve) => {
      call((error) => {
        failure ??= error ?? undefined;
        resolve();
      });
    });
  const takeRows = function* () {
    yield* rows.splice(0);
    if (failure === undefined) return;
    const problem = toCsvProblem(failure, position);
    throw problem === undefined ? failure : new UnreadableBodyError(problem);
  };
  for await (const part of bytes) {
    position.add(part);
    await runParser((done) => parser.write(part, done));
    yield* takeRows();
  }
  await runParser((done) => parser.end(done));
  yield* takeRows();
}

type SkippedBytes = { length: number };

/** Removes the byte order mark, and stores its length in `skippedBytes`. */
async function* stripByteOrderMark(
  bytes: ByteStream,
  skippedBytes: SkippedBytes,
): AsyncGenerator<Buffer> {
  let first: Buffer | undefined = Buffer.alloc(0);
  for await (const part of bytes) {
    if (first === undefined) {
      yield part;
      continue;
    }
    first = Buffer.concat([first, part]);
    if (first.length < byteOrderMark.length) continue;
    yield stripFromStart(first, skippedBytes);
    first = undefined;
  }
  if (first !== undefined && first.length > 0) yield stripFromStart(first, skippedBytes);
}

function stripFromStart(first: Buffer, skippedBytes: SkippedBytes): Buffer {
  if (utf16Marks.some((other) => first.subarray(0, other.length).equals(other))) {
    throw new UnreadableBodyError(malformedCsv('The CSV file is not in UTF-8.'));
  }
  if (!first.subarray(0, byteOrderMark.length).equals(byteOrderMark)) return first;
  skippedBytes.length = byteOrderMark.length;
  return first.subarray(byteOrderMark.length);
}

/** @throws ProblemError for bytes that are not UTF-8 text, or that PostgreSQL cannot store */
function cellsOf(row: CsvRow): string[] {
  if (!row.cells.every((cell) => isUtf8(cell))) throw malformedCsv('The row is not in UTF-8.');
  if (row.cells.some((cell) => cell.includes(0))) throw malformedCsv('A cell contains U+0000.');
  return row.cells.map((cell) => cell.toString('utf8'));
}

function columnsOf(row: CsvRow): Column[] {
  try {
    return parseColumns(cellsOf(row));
  } catch (error) {
    throw error instanceof ProblemError ? new UnreadableBodyError(error) : error;
  }
}

function toContent(columns: readonly Column[], row: CsvRow, length: number): BodyLine['content'] {
  if (length > bulkLimits.lineBytes) return { problem: createTooLongProblem('The row') };
  if (row.cells.length !== columns.length) {
    const counts = `The row has ${row.cells.length} cells and the first row ${columns.length}.`;
    return { problem: malformedCsv(counts) };
  }
  try {
    return { value: buildLine(columns, cellsOf(row)) };
  } catch (error) {
    if (error instanceof ProblemError) return { problem: error };
    throw error;
  }
}

/** The first row names the columns; blank lines are counted, but get no result. */
export async function* readCsv(bytes: ByteStream): AsyncGenerator<BodyLine> {
  const position = createCsvPosition();
  const skippedBytes = { length: 0 };
  let columns: Column[] | undefined;
  let last = 0;
  for await (const row of readRows(stripByteOrderMark(bytes, skippedBytes), position)) {
    const line = position.advanceTo(row.end);
    const length = row.end - last;
    last = row.end;
    if (columns === undefined) columns = columnsOf(row);
    else
      yield {
        line,
        end: skippedBytes.length + row.end,
        content: toContent(columns, row, length),
      };
  }
  if (columns !== undefined) return;
  throw new UnreadableBodyError(malformedCsv('The CSV file has no header row.'));
}
