// Hands an export out: the bytes of a range, part after part, as fast as the reader takes them.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Range } from './range.ts';
import type { ExportRow, ExportStore } from './store.ts';

const decompress = promisify(gunzip);

/** So many parts are held at once. */
const partsPerRead = 4;

/** @throws Error where the export was deleted meanwhile: half a content must not look like a whole one */
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
