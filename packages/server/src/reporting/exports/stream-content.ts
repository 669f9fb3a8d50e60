// Streams the content of an export: reads the bytes of a range part by part, at the client's pace.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { ExportRow, ExportStore } from './export-sql.ts';
import type { ByteRange } from './range-header.ts';

const decompress = promisify(gunzip);

/** The maximum number of parts in memory at once. */
const partsPerRead = 4;

/**
 * @throws Error if the export was deleted during the download, so that it does not look complete
 */
export async function* streamBytes(
  store: Pick<ExportStore, 'readParts'>,
  row: ExportRow,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  let nextByte = first;
  let lastPartNumber = -1;
  while (nextByte <= last) {
    const parts = await store.readParts(
      row,
      { after: lastPartNumber, firstByte: nextByte },
      partsPerRead,
    );
    if (parts.length === 0) throw new Error('the export has been deleted');
    for (const { number, firstByte, content } of parts) {
      const bytes = await decompress(content);
      yield bytes.subarray(Math.max(0, nextByte - firstByte), last - firstByte + 1);
      lastPartNumber = number;
      nextByte = firstByte + bytes.length;
      if (nextByte > last) return;
    }
  }
}
