// Reads comma-separated values (RFC 4180): each row is one line of an import.
import { isUtf8 } from 'node:buffer';
import { bulkLimits, ProblemError } from '@switchyard/contract';
import { type Column, lineFrom, readColumns } from './csv-columns.ts';
import { type Bytes, SourceEnd, type SourceLine, tooLong } from './import-body.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** The byte order marks of UTF-16. */
const otherMarks = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

type CsvRow = { readonly cells: readonly Buffer[]; readonly end: number };

const malformed = (detail: string) => new ProblemError('malformed_csv', detail);

/** Counts the lines in the bytes that do not form a complete row yet. */
function createPlace() {
  let held: Buffer = Buffer.alloc(0);
  let from = 0;
  let line = 1;

  /** Skips the blank lines before a row. */
  function beginning(): number {
    let at = 0;
    let begun = line;
    for (; held[at] === newline || held[at] === carriageReturn; at += 1) {
      if (held[at] === newline) begun += 1;
    }
    return begun;
  }

  return {
    add(part: Buffer): void {
      held = held.length === 0 ? part : Buffer.concat([held, part]);
    },
    /** Returns the line at which the row that ends at `end` begins. */
    pass(end: number): number {
      const begun = beginning();
      const passed = held.subarray(0, end - from);
      for (const byte of passed) if (byte === newline) line += 1;
      held = held.subarray(passed.length);
      from = end;
      return begun;
    },
    beginning,
    /** Returns the line of the quote that is never closed. */
    openQuote(): number {
      let open = line;
      let at = line;
      let isOpen = false;
      for (const byte of held) {
        if (byte === newline) at += 1;
        if (byte !== quote) continue;
        isOpen = !isOpen;
        if (isOpen) open = at;
      }
      return open;
    },
  };
}

type Place = ReturnType<typeof createPlace>;

/** Translates an error of the CSV library to a Refusal. */
function refusalOf(error: unknown, place: Place): ProblemError | undefined {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return malformed(`The quote that opens on line ${place.openQuote()} is never closed.`);
    case 'CSV_MAX_RECORD_SIZE':
      return malformed(
        `The row that begins on line ${place.beginning()} is longer than ${bulkLimits.lineBytes} bytes; a quote may not be closed.`,
      );
    case 'INVALID_OPENING_QUOTE':
    case 'CSV_INVALID_CLOSING_QUOTE':
      return malformed(
        `In the row that begins on line ${place.beginning()} a quote stands within a cell; quotes in a quoted cell are doubled.`,
      );
    default:
      return undefined;
  }
}

/** Yields rows as they arrive; rows that precede an error come before the error. */
async function* readRecords(bytes: Bytes, place: Place): AsyncGenerator<CsvRow> {
  const found: CsvRow[] = [];
  const { parse } = await import('csv-parse');
  const parser = parse({
    encoding: null,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: bulkLimits.lineBytes,
    on_record(cells: unknown, { bytes: end }) {
      found.push({ cells: cells as Buffer[], end });
      return null;
    },
  });
  let failure: unknown;
  parser.on('error', (error: unknown) => {
    failure = error;
  });
  const step = (ask: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve) => {
      ask((error) => {
        failure ??= error ?? undefined;
        resolve();
      });
    });
  const give = function* () {
    yield* found.splice(0);
    if (failure === undefined) return;
    const refusal = refusalOf(failure, place);
    throw refusal === undefined ? failure : new SourceEnd(refusal);
  };
  for await (const part of bytes) {
    place.add(part);
    await step((done) => parser.write(part, done));
    yield* give();
  }
  await step((done) => parser.end(done));
  yield* give();
}

type Mark = { length: number };

/** Removes the byte order mark and stores its length. */
async function* withoutMark(bytes: Bytes, mark: Mark): AsyncGenerator<Buffer> {
  let first: Buffer | undefined = Buffer.alloc(0);
  for await (const part of bytes) {
    if (first === undefined) {
      yield part;
      continue;
    }
    first = Buffer.concat([first, part]);
    if (first.length < byteOrderMark.length) continue;
    yield unmarked(first, mark);
    first = undefined;
  }
  if (first !== undefined && first.length > 0) yield unmarked(first, mark);
}

function unmarked(first: Buffer, mark: Mark): Buffer {
  if (otherMarks.some((other) => first.subarray(0, other.length).equals(other))) {
    throw new SourceEnd(malformed('The table is not in UTF-8.'));
  }
  if (!first.subarray(0, byteOrderMark.length).equals(byteOrderMark)) return first;
  mark.length = byteOrderMark.length;
  return first.subarray(byteOrderMark.length);
}

/** @throws Refusal for bytes that are not UTF-8 text, or that PostgreSQL cannot store */
function cellsOf(row: CsvRow): string[] {
  if (!row.cells.every((cell) => isUtf8(cell))) throw malformed('The row is not in UTF-8.');
  if (row.cells.some((cell) => cell.includes(0))) throw malformed('A cell holds U+0000.');
  return row.cells.map((cell) => cell.toString('utf8'));
}

function columnsOf(row: CsvRow): Column[] {
  try {
    return readColumns(cellsOf(row));
  } catch (error) {
    throw error instanceof ProblemError ? new SourceEnd(error) : error;
  }
}

function said(columns: readonly Column[], row: CsvRow, length: number): SourceLine['said'] {
  if (length > bulkLimits.lineBytes) return { refusal: tooLong('The row') };
  if (row.cells.length !== columns.length) {
    const counts = `The row has ${row.cells.length} cells and the first row ${columns.length}.`;
    return { refusal: malformed(counts) };
  }
  try {
    return { value: lineFrom(columns, cellsOf(row)) };
  } catch (error) {
    if (error instanceof ProblemError) return { refusal: error };
    throw error;
  }
}

/** The first row names the columns; blank lines are counted, but get no result. */
export async function* readCsv(bytes: Bytes): AsyncGenerator<SourceLine> {
  const place = createPlace();
  const mark = { length: 0 };
  let columns: Column[] | undefined;
  let last = 0;
  for await (const row of readRecords(withoutMark(bytes, mark), place)) {
    const line = place.pass(row.end);
    const length = row.end - last;
    last = row.end;
    if (columns === undefined) columns = columnsOf(row);
    else yield { line, end: mark.length + row.end, said: said(columns, row, length) };
  }
  if (columns !== undefined) return;
  throw new SourceEnd(malformed('The table has no row that names its columns.'));
}
