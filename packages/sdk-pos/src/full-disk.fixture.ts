/** A file system that is full, in the middle of a line: of what is written only so many bytes arrive. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** What `use` throws comes through; afterwards there is room again. */
export function withFullDisk(bytesLeft: number, use: () => void): void {
  const { writeSync } = fs;
  let left = bytesLeft;
  const short = (file: number, data: string | Buffer, at = 0): number => {
    const bytes = Buffer.from(data).subarray(at, at + left);
    if (bytes.length === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    left -= bytes.length;
    return writeSync(file, bytes);
  };
  Object.assign(fs, { writeSync: short });
  syncBuiltinESMExports();
  try {
    use();
  } finally {
    Object.assign(fs, { writeSync });
    syncBuiltinESMExports();
  }
}
