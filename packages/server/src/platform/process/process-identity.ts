// Identifies a process by its id and start time, because the operating system uses process ids again.
import { existsSync, readFileSync } from 'node:fs';

/** What the system says of a process, from its state on; a process without such a file has none. */
function statusOf(pid: number): string[] | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything, so the fields are counted behind it.
    return status.slice(status.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Of one that has ended and was not yet collected by its parent. */
const isOver = (status: string[] | undefined): boolean => status?.[0] === 'Z';

/**
 * Process id and, where the system tells it, the time of its start: ids come again. Nothing of a process that
 * has ended.
 */
export function processMark(pid: number): string {
  const status = statusOf(pid);
  const startedAt = status?.[19];
  if (startedAt !== undefined) return isOver(status) ? '' : `${pid} ${startedAt}`;
  return existsSync('/proc/self') || !isAlive(pid) ? '' : `${pid} `;
}

/** Whether the process that has the mark still runs. */
export function isMarkAlive(mark: string): boolean {
  return mark !== '' && processMark(Number(mark.split(' ')[0])) === mark;
}

/** A process that has ended but was not yet collected by its parent is as good as gone. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Where nothing is told of it, it is believed: it may have ended just now, which the next look tells.
  return !isOver(statusOf(pid));
}
