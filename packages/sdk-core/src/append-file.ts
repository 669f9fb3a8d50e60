/** A file of complete lines that only grows, and how it is replaced. */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;

export type AppendFile = { add(text: string): void; close(): void };

/** With `sync: false` the operating system decides when data reaches the disk. */
export type SyncOptions = { readonly sync: boolean };

/** Creates the directory of a file that only its owner can read. */
export function createPrivateDirectory(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: ownerOnlyDirectory });
}

/**
 * The end of a file of complete lines. It removes a line whose append failed, complete or not.
 *
 * @param wholeBytes - the length of the complete lines; an incomplete line after them is removed
 */
export function openAppendFile(
  path: string,
  wholeBytes: number,
  { sync }: SyncOptions,
): AppendFile {
  const file = openSync(path, 'a', ownerOnly);
  let size = wholeBytes;
  let isIncomplete = true;

  function truncate(): void {
    ftruncateSync(file, size);
    isIncomplete = false;
  }

  return {
    add(text) {
      if (isIncomplete) truncate();
      const bytes = Buffer.from(text);
      isIncomplete = true;
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
        if (sync) fdatasyncSync(file);
        isIncomplete = false;
      } finally {
        if (isIncomplete) truncate();
      }
      size += bytes.length;
    },
    close: () => closeSync(file),
  };
}

/**
 * Replaces the content of a file in one step; the old file stays until the new one is complete.
 * The replacement is durable after `syncDirectory`.
 */
export function replaceFile(path: string, text: string, { sync }: SyncOptions): void {
  writeFileSync(`${path}.new`, text, { mode: ownerOnly, flush: sync });
  renameSync(`${path}.new`, path);
}

/** A rename is durable only after its directory is synced. Windows cannot open directories. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
