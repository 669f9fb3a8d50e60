// Lets the engine's own threads, which look for garbage, give way to sales and to the database.
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Log } from '../observability/log.ts';

/** As much as `nice` gives: a tenth of a core where others want it, all of it where nobody does. */
const lowPriority = 10;
const v8ThreadName = 'V8Worker';
const threadsDirectory = '/proc/self/task';

function findThreads(name: string): number[] {
  return readdirSync(threadsDirectory)
    .filter((id) => readFileSync(`${threadsDirectory}/${id}/comm`, 'utf8').trim() === name)
    .map(Number);
}

/**
 * Marking the heap takes several threads for a tenth of a second, every few seconds. On two cores nobody else
 * gets one meanwhile, and every hundredth sale waits for it (ADR 0072). Linux has priorities of threads; elsewhere
 * nothing is done.
 *
 * @returns how many threads give way now
 * @example yieldEngineThreads(log);
 */
export function lowerGcThreadPriority(log: Pick<Log, 'warn'>): number {
  if (process.platform !== 'linux') return 0;
  try {
    const ids = findThreads(v8ThreadName);
    for (const id of ids) setPriority(id, lowPriority);
    return ids.length;
  } catch (error) {
    log.warn({ err: error }, 'threads that look for garbage keep their priority');
    return 0;
  }
}
