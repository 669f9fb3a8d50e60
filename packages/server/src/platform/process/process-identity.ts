// Identifies a process by its id and start time, because the operating system uses process ids again.
import { existsSync, readFileSync } from 'node:fs';

/** What the system says of a process, from its state on; a process without such a file has none. */
function readProcessStatus(pid: number): string[] | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything, so the fields are counted behind it.
    return status.slice(status.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Of one that has ended and was not yet collected by its parent. */
const isZombie = (status: string[] | undefined): boolean => status?.[0] === 'Z';

/**
 * Process id and, where the system tells it, the time of its start: ids come again. Nothing of a process that
 * has ended.
 */
export function readProcessIdentity(pid: number): string {
  const status = readProcessStatus(pid);
  const startedAt = status?.[19];
  if (startedAt !== undefined) return isZombie(status) ? '' : `${pid} ${startedAt}`;
  return existsSync('/proc/self') || !isProcessAlive(pid) ? '' : `${pid} `;
}

/** Whether the process that has the mark still runs. */
export function isSameProcessAlive(identity: string): boolean {
  return identity !== '' && readProcessIdentity(Number(identity.split(' ')[0])) === identity;
}

/** A process that has ended but was not yet collected by its parent is as good as gone. */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Where nothing is told of it, it is believed: it may have ended just now, which the next look tells.
  return !isZombie(readProcessStatus(pid));
}
