// Reads the memory and the environment of another process, as an attacker with root access would.
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const chunkBytes = 4 * 1024 * 1024;
/** The scan repeats this part of the previous chunk, to find keys across two chunks. */
const overlapBytes = 256;
const zeros = Buffer.alloc(chunkBytes + overlapBytes);

export type BytePattern = { readonly name: string; readonly bytes: Buffer };

/** A key in each encoding that memory could contain. */
export function keyPatterns(name: string, key: Buffer): BytePattern[] {
  const hex = key.toString('hex');
  return [
    { name: `${name} in bytes`, bytes: key },
    { name: `${name} in hex`, bytes: Buffer.from(hex) },
    { name: `${name} in capital hex`, bytes: Buffer.from(hex.toUpperCase()) },
    { name: `${name} in base64`, bytes: Buffer.from(key.toString('base64')) },
    { name: `${name} in base64url`, bytes: Buffer.from(key.toString('base64url')) },
  ];
}

/** The address ranges that the process has mapped as readable and writable. */
function writableRanges(pid: number): { from: number; to: number }[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, from, to, rights = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
    if (from === undefined || to === undefined || !rights.startsWith('rw')) return [];
    return [{ from: Number.parseInt(from, 16), to: Number.parseInt(to, 16) }];
  });
}

function readAt(file: number, into: Buffer, length: number, position: number): number {
  try {
    return readSync(file, into, 0, length, position);
  } catch (error) {
    // The process unmapped the range since the list was read, or the range was never backed.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EIO' || code === 'EFAULT') return 0;
    throw error;
  }
}

export type MemoryMatches = { readonly names: string[]; readonly bytesRead: number };

/** @throws Error if the system denies access to the memory (EACCES, EPERM) */
export function findInMemory(pid: number, patterns: readonly BytePattern[]): MemoryMatches {
  const file = openSync(`/proc/${pid}/mem`, 'r');
  const chunk = Buffer.alloc(chunkBytes + overlapBytes);
  const names = new Set<string>();
  let bytesRead = 0;
  try {
    for (const { from, to } of writableRanges(pid)) {
      for (let at = from; at < to; at += chunkBytes) {
        const length = readAt(file, chunk, Math.min(chunk.length, to - at), at);
        const bytesOfChunk = chunk.subarray(0, length);
        if (length === 0 || bytesOfChunk.equals(zeros.subarray(0, length))) continue;
        bytesRead += length;
        for (const { name, bytes } of patterns) if (bytesOfChunk.includes(bytes)) names.add(name);
      }
    }
  } finally {
    closeSync(file);
  }
  return { names: [...names], bytesRead };
}

export function findInEnvironment(pid: number, patterns: readonly BytePattern[]): string[] {
  const environment = readFileSync(`/proc/${pid}/environ`);
  return patterns.filter(({ bytes }) => environment.includes(bytes)).map(({ name }) => name);
}
