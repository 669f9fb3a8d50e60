/** For the tests of the SDKs: a clock that a test advances, and a disk that is full or fails. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Clock } from './clock.ts';

/** A clock that moves only when a test advances it, and that lists the pending waits. */
export type SteppedClock = Clock & {
  /** Moves the time forward and resolves the waits that are due. */
  advance(ms: number): void;
  /** The remaining time of each pending wait, the shortest first. */
  waits(): number[];
};

export function steppedClock(startAt = 1_800_000_000_000): SteppedClock {
  let now = startAt;
  const waiting = new Set<{ readonly until: number; wake(): void }>();
  return {
    now: () => now,
    wait(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const one = {
          until: now + ms,
          wake() {
            waiting.delete(one);
            resolve();
          },
        };
        waiting.add(one);
        signal?.addEventListener('abort', one.wake);
      });
    },
    advance(ms) {
      now += ms;
      for (const one of [...waiting]) if (one.until <= now) one.wake();
    },
    waits: () => [...waiting].map(({ until }) => until - now).toSorted((a, b) => a - b),
  };
}

/**
 * Runs `use` while the disk has space for a number of bytes only, so that it becomes full in the middle of a line.
 * Rethrows what `use` throws; afterwards the disk has space again.
 */
export function withFullDisk(bytesLeft: number, use: () => void): void {
  let bytesRemaining = bytesLeft;
  const { writeSync } = fs;
  const writePartially = (file: number, data: string | Buffer, at = 0): number => {
    const bytes = Buffer.from(data).subarray(at, at + bytesRemaining);
    if (bytes.length === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    bytesRemaining -= bytes.length;
    return writeSync(file, bytes);
  };
  withFileFunctions({ writeSync: writePartially }, use);
}

/** Runs `use` while `fsync` fails with EIO. */
export function withFailingSync(use: () => void): void {
  const fsyncSync = (): void => {
    throw Object.assign(new Error('the device failed'), { code: 'EIO' });
  };
  withFileFunctions({ fsyncSync }, use);
}

function withFileFunctions(
  functions: Partial<Record<keyof typeof fs, unknown>>,
  use: () => void,
): void {
  const names = Object.keys(functions) as (keyof typeof fs)[];
  const originals = Object.fromEntries(names.map((name) => [name, fs[name]]));
  Object.assign(fs, functions);
  syncBuiltinESMExports();
  try {
    use();
  } finally {
    Object.assign(fs, originals);
    syncBuiltinESMExports();
  }
}
