/**
 * A file system that becomes full in the middle of a line: only a given number of bytes is written.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Rethrows what `use` throws; afterwards the disk has space again. */
export function withFullDisk(bytesLeft: number, use: () => void): void {
  const { writeSync } = fs;
  let bytesRemaining = bytesLeft;
  const writePartially = (file: number, data: string | Buffer, at = 0): number => {
    const bytes = Buffer.from(data).subarray(at, at + bytesRemaining);
    if (bytes.length === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    bytesRemaining -= bytes.length;
    return writeSync(file, bytes);
  };
  Object.assign(fs, { writeSync: writePartially });
  syncBuiltinESMExports();
  try {
    use();
  } finally {
    Object.assign(fs, { writeSync });
    syncBuiltinESMExports();
  }
}
