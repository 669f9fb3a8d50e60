// Stores the last acknowledged writes of a process in its data directory, so that a restart can compare them.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AcknowledgedWrite } from './database-timeline-sql.ts';

export type TimelineRecord = {
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly databaseIdentifier: string;
  readonly jumps: number;
  /** The WAL position that precedes an acknowledged commit. */
  readonly position: bigint;
  readonly writes: readonly AcknowledgedWrite[];
};

/** Undefined if there is no file. @throws Error for a file that cannot be read */
export async function readTimelineFile(path: string): Promise<TimelineRecord | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const { position, ...record } = JSON.parse(text) as Omit<TimelineRecord, 'position'> & {
    position: string;
  };
  return { ...record, position: BigInt(position) };
}

/** A crash leaves the old file or the new one. */
export async function writeTimelineFile(path: string, record: TimelineRecord): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  const text = JSON.stringify({ ...record, position: String(record.position) });
  await writeFile(draft, `${text}\n`, { mode: 0o600 });
  await rename(draft, path);
}
