// Names a process to PostgreSQL, as `pg_stat_activity` and its log show it.

/** PostgreSQL cuts longer names at their end. */
const nameBytesMax = 63;
const rolesOfAll = 5;

/** Of a long instance name the end is kept: a pod and a process differ there. */
export function applicationName(instance: string, role: string): string {
  const room = nameBytesMax - `switchyard  ${role}`.length;
  return `switchyard ${instance.slice(-room)} ${role}`;
}

/** @example roleName(new Set(['cards', 'jobs'])); // cards+jobs */
export const roleName = (roles: ReadonlySet<string>): string =>
  roles.size === rolesOfAll ? 'all' : [...roles].sort().join('+');
