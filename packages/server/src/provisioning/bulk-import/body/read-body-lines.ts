// Reads the body line by line in either format, and limits the number of lines.
import { setImmediate as turn } from 'node:timers/promises';
import { bulkLimits, ProblemError } from '@switchyard/contract';
import { type Bytes, type Format, SourceEnd, type SourceLine } from './import-body.ts';
import { readCsv } from './read-csv.ts';
import { readJsonLines } from './read-json-lines.ts';

/** After this many lines, other work of the process can run. */
const linesPerTurn = 100;

const readers: Readonly<Record<Format, (bytes: Bytes) => AsyncGenerator<SourceLine>>> = {
  JsonLines: readJsonLines,
  Csv: readCsv,
};

/** @throws SourceEnd after the last line that an import accepts */
export async function* readSource(bytes: Bytes, format: Format): AsyncGenerator<SourceLine> {
  let count = 0;
  for await (const line of readers[format](bytes)) {
    count += 1;
    if (count > bulkLimits.lines) {
      const detail = `An import has at most ${bulkLimits.lines} lines; send those from line ${line.line} on as another one.`;
      throw new SourceEnd(new ProblemError('payload_too_large', detail));
    }
    yield line;
    if (count % linesPerTurn === 0) await turn();
  }
}
