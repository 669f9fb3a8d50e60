// Reads the body line by line in either format, and limits the number of lines.
import { setImmediate as turn } from 'node:timers/promises';
import { bulkLimits, ProblemError } from '@switchyard/contract';
import {
  type BodyLine,
  type ByteStream,
  type ImportFormat,
  UnreadableBodyError,
} from './import-body.ts';
import { readCsv } from './read-csv.ts';
import { readJsonLines } from './read-json-lines.ts';

/** After this many lines, other work of the process can run. */
const linesPerYield = 100;

const readers: Readonly<Record<ImportFormat, (bytes: ByteStream) => AsyncGenerator<BodyLine>>> = {
  JsonLines: readJsonLines,
  Csv: readCsv,
};

/** @throws SourceEnd after the last line that an import accepts */
export async function* readBodyLines(
  bytes: ByteStream,
  format: ImportFormat,
): AsyncGenerator<BodyLine> {
  let count = 0;
  for await (const line of readers[format](bytes)) {
    count += 1;
    if (count > bulkLimits.lines) {
      const detail = `An import has at most ${bulkLimits.lines} lines; send the rest, from line ${line.line} on, as another import.`;
      throw new UnreadableBodyError(new ProblemError('payload_too_large', detail));
    }
    yield line;
    if (count % linesPerYield === 0) await turn();
  }
}
