// The application name of a connection, as `pg_stat_activity` and the log of PostgreSQL show it.

/** PostgreSQL truncates longer names. */
const maxNameBytes = 63;
const roleCount = 5;

/** The end of a long instance name is kept, because pod and process id are there. */
export function applicationName(instance: string, role: string): string {
  const instanceCharacters = maxNameBytes - `switchyard  ${role}`.length;
  return `switchyard ${instance.slice(-instanceCharacters)} ${role}`;
}

/** @example joinRoleNames(new Set(['cards', 'jobs'])); // cards+jobs */
export const joinRoleNames = (roles: ReadonlySet<string>): string =>
  roles.size === roleCount ? 'all' : [...roles].sort().join('+');
