// Names a process to PostgreSQL, as `pg_stat_activity` and its log show it.

/** PostgreSQL cuts longer names at their end. */
const maxNameBytes = 63;
const roleCount = 5;

/** Of a long instance name the end is kept: a pod and a process differ there. */
export function applicationName(instance: string, role: string): string {
  const instanceCharacters = maxNameBytes - `switchyard  ${role}`.length;
  return `switchyard ${instance.slice(-instanceCharacters)} ${role}`;
}

/** @example roleName(new Set(['cards', 'jobs'])); // cards+jobs */
export const joinRoleNames = (roles: ReadonlySet<string>): string =>
  roles.size === roleCount ? 'all' : [...roles].sort().join('+');
