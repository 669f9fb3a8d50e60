// Streams the content of an export: reads the bytes of a range part by part, at the client's pace.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { ExportRow, ExportStore } from './export-sql.ts';
import type { Range } from './range-header.ts';

const decompress = promisify(gunzip);

/** The maximum number of parts in memory at once. */
const partsPerRead = 4;

/**
 * @throws Error if the export was deleted during the download, so that it does not look complete
 */
export async function* bytesOf(
  store: Pick<ExportStore, 'partsFrom'>,
  row: ExportRow,
  { first, last }: Range,
): AsyncGenerator<Buffer> {
  let next = first;
  let after = -1;
  while (next <= last) {
    const parts = await store.partsFrom(row, { after, firstByte: next }, partsPerRead);
    if (parts.length === 0) throw new Error('the export has been deleted');
    for (const { number, firstByte, content } of parts) {
      const whole = await decompress(content);
      yield whole.subarray(Math.max(0, next - firstByte), last - firstByte + 1);
      after = number;
      next = firstByte + whole.length;
      if (next > last) return;
    }
  }
}
