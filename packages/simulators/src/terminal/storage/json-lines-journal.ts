// A file of JSON lines: later lines override earlier ones; the file is rewritten when it has grown too much.
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

export type JsonLinesJournal = {
  /** The lines at opening, without an incomplete last line, which was never confirmed. */
  readonly lines: readonly unknown[];
  /** Writes before it returns. @throws Error where the disk is full */
  append(change: unknown, whole: () => unknown): void;
};

const ownerOnly = 0o600;
/** A smaller growth does not cause a rewrite. */
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
 * Opens a journal. When it has grown to twice its content, and by 256 KiB at least, it is rewritten and renamed
 * into place, so that a killed process leaves the old file or the new one.
 *
 * @throws Error where it cannot be read, or was changed
 */
export function openJsonLinesJournal(path: string): JsonLinesJournal {
  const lines = linesIn(path);
  let size = 0;
  /** A rewrite comes first, because the file may end with an incomplete line. */
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
