// Identifies a process by its id and start time, because the operating system uses process ids again.
import { existsSync, readFileSync } from 'node:fs';

/** The fields of /proc/{pid}/stat after the name. Undefined if the file does not exist. */
function readProcessStatus(pid: number): string[] | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may contain any character, so fields are counted after it.
    return status.slice(status.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** True for a process that has ended and whose parent has not collected it. */
const isZombie = (status: string[] | undefined): boolean => status?.[0] === 'Z';

/** Process id and, if the system reports it, the start time. Empty for a process that has ended. */
export function readProcessIdentity(pid: number): string {
  const status = readProcessStatus(pid);
  const startedAt = status?.[19];
  if (startedAt !== undefined) return isZombie(status) ? '' : `${pid} ${startedAt}`;
  return existsSync('/proc/self') || !isProcessAlive(pid) ? '' : `${pid} `;
}

/** True while the process with this identity runs. */
export function isSameProcessAlive(identity: string): boolean {
  return identity !== '' && readProcessIdentity(Number(identity.split(' ')[0])) === identity;
}

/** False also for a process that has ended and whose parent has not collected it. */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Without a status the process counts as alive: it may have ended just now, which the next check notices.
  return !isZombie(readProcessStatus(pid));
}
