// Checks at the start that the file descriptor limit allows the configured number of connections.
import { readFileSync } from 'node:fs';
import type { Log } from '../observability/log.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';

/** For the database, acquirer links, HTTP requests and files. */
const otherFileDescriptors = 1000;

/** The soft limit, which Node.js raises to the hard limit. Undefined if the system reports none. */
export function parseFileDescriptorLimit(text: string): number | undefined {
  const limit = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (limit === undefined) return undefined;
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
}

function readProcessLimit(): number | undefined {
  try {
    return parseFileDescriptorLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Not Linux: the limit is unknown.
    return undefined;
  }
}

type LimitSettings = Pick<Settings, 'environment' | 'roles' | 'connectorConnections'>;

/**
 * If the limit is too low, `production` does not start, and the other environments log a warning.
 *
 * @example checkFileDescriptorLimit(settings, log);
 */
export function checkFileDescriptorLimit(
  { environment, roles, connectorConnections }: LimitSettings,
  log: Pick<Log, 'warn'>,
  limit = readProcessLimit(),
): void {
  const needed = connectorConnections + otherFileDescriptors;
  if (!roles.has('connector') || limit === undefined || limit >= needed) return;
  const text =
    `the file descriptor limit is ${limit}, but SWITCHYARD_CONNECTOR_CONNECTIONS=${connectorConnections} ` +
    `needs ${needed}: raise the limit (LimitNOFILE of systemd, ulimit -n), or lower the setting`;
  if (environment === 'production') throw new SettingsError([text]);
  log.warn({ limit, needed }, text);
}
