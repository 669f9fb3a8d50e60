// Looks at the start whether the system lets this process have as many files as it may hold connections.
import { readFileSync } from 'node:fs';
import type { Log } from '../observability/log.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';

/** For the database, links to acquirers, requests by HTTP and what else a process opens. */
const otherFileDescriptors = 1000;

/** The soft limit, which Node raises to the hard one; undefined where the system tells none. */
export function parseFileDescriptorLimit(text: string): number | undefined {
  const limit = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (limit === undefined) return undefined;
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
}

function readProcessLimit(): number | undefined {
  try {
    return parseFileDescriptorLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Another system than Linux: it says nothing of the kind.
    return undefined;
  }
}

type LimitSettings = Pick<Settings, 'environment' | 'roles' | 'connectorConnections'>;

/**
 * Production does not start where connections would meet EMFILE; elsewhere it is told.
 *
 * @example checkOpenFiles(settings, log);
 */
export function checkFileDescriptorLimit(
  { environment, roles, connectorConnections }: LimitSettings,
  log: Pick<Log, 'warn'>,
  limit = readProcessLimit(),
): void {
  const needed = connectorConnections + otherFileDescriptors;
  if (!roles.has('connector') || limit === undefined || limit >= needed) return;
  const text =
    `the process may open ${limit} files, and SWITCHYARD_CONNECTOR_CONNECTIONS=${connectorConnections} ` +
    `needs ${needed}: raise the limit (LimitNOFILE of systemd, ulimit -n), or lower the setting`;
  if (environment === 'production') throw new SettingsError([text]);
  log.warn({ limit, needed }, text);
}
