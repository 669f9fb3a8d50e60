// Lowers the priority of V8's garbage collection threads below sales and the database.
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Log } from '../observability/log.ts';

/** The default of `nice`: a tenth of a core while others want it, the whole core otherwise. */
const lowPriority = 10;
const v8ThreadName = 'V8Worker';
const threadsDirectory = '/proc/self/task';

function findThreads(name: string): number[] {
  return readdirSync(threadsDirectory)
    .filter((id) => readFileSync(`${threadsDirectory}/${id}/comm`, 'utf8').trim() === name)
    .map(Number);
}

/**
 * Marking the heap uses several threads for a tenth of a second, every few seconds. On two cores
 * every hundredth sale would wait for it (ADR 0023). Linux has thread priorities; on other systems
 * nothing is changed.
 *
 * @returns the number of threads with a lower priority
 * @example lowerGcThreadPriority(log);
 */
export function lowerGcThreadPriority(log: Pick<Log, 'warn'>): number {
  if (process.platform !== 'linux') return 0;
  try {
    const ids = findThreads(v8ThreadName);
    for (const id of ids) setPriority(id, lowPriority);
    return ids.length;
  } catch (error) {
    log.warn({ err: error }, 'the priority of the garbage collection threads could not be changed');
    return 0;
  }
}
