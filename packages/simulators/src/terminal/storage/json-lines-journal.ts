// A file of JSON lines: what is told later counts, and all of it is written anew once it has outgrown itself.
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

export type JsonLinesJournal = {
  /** What was there when it was opened; a line that was torn belongs to nothing that was promised. */
  readonly lines: readonly unknown[];
  /** Handed to the operating system when it returns. @throws Error where the disk takes nothing */
  append(change: unknown, whole: () => unknown): void;
};

const ownerOnly = 0o600;
/** Below that a file is not worth being written anew. */
const rewriteThresholdBytes = 262_144;

function linesIn(path: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text
    .split('\n')
    .slice(0, -1)
    .map((line, at) => {
      try {
        return JSON.parse(line) as unknown;
      } catch {
        throw new Error(`line ${at + 1} of ${path} is damaged`);
      }
    });
}

/**
 * Opens a journal. Never longer than twice what it tells, or by 256 KiB and a line: then it is written
 * whole and renamed into place, so that a killed process finds the old file or the new one.
 *
 * @throws Error where it cannot be read, or was changed
 */
export function openJsonLinesJournal(path: string): JsonLinesJournal {
  const lines = linesIn(path);
  let size = 0;
  /** Nothing is appended to what may end in the middle of a line. */
  let growth = Number.POSITIVE_INFINITY;

  return {
    lines,
    append(change, whole) {
      const text = `${JSON.stringify(change)}\n`;
      const grown = growth + Buffer.byteLength(text);
      growth = Number.POSITIVE_INFINITY;
      if (grown > Math.max(size, rewriteThresholdBytes)) {
        const all = `${JSON.stringify(whole())}\n`;
        writeFileSync(`${path}.new`, all, { mode: ownerOnly });
        renameSync(`${path}.new`, path);
        size = Buffer.byteLength(all);
        growth = 0;
        return;
      }
      appendFileSync(path, text);
      growth = grown;
    },
  };
}
