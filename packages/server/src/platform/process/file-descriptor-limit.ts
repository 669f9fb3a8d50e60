// Looks at the start whether the system lets this process have as many files as it may hold connections.
import { readFileSync } from 'node:fs';
import type { Log } from '../observability/log.ts';
import { type Settings, SettingsFault } from '../settings/settings.ts';

/** For the database, links to acquirers, requests by HTTP and what else a process opens. */
const besideConnections = 1000;

/** The soft limit, which Node raises to the hard one; undefined where the system tells none. */
export function readOpenFilesLimit(text: string): number | undefined {
  const told = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (told === undefined) return undefined;
  return told === 'unlimited' ? Number.POSITIVE_INFINITY : Number(told);
}

function limitOfProcess(): number | undefined {
  try {
    return readOpenFilesLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Another system than Linux: it says nothing of the kind.
    return undefined;
  }
}

type Asked = Pick<Settings, 'environment' | 'roles' | 'connectorConnections'>;

/**
 * Production does not start where connections would meet EMFILE; elsewhere it is told.
 *
 * @example checkOpenFiles(settings, log);
 */
export function checkOpenFiles(
  { environment, roles, connectorConnections }: Asked,
  log: Pick<Log, 'warn'>,
  limit = limitOfProcess(),
): void {
  const needed = connectorConnections + besideConnections;
  if (!roles.has('connector') || limit === undefined || limit >= needed) return;
  const text =
    `the process may open ${limit} files, and SWITCHYARD_CONNECTOR_CONNECTIONS=${connectorConnections} ` +
    `needs ${needed}: raise the limit (LimitNOFILE of systemd, ulimit -n), or lower the setting`;
  if (environment === 'production') throw new SettingsFault([text]);
  log.warn({ limit, needed }, text);
}
