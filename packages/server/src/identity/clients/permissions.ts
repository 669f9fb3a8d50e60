// The permissions of applications and users: the union over their roles.
import { type Permission, permissions, type RoleName, rolePermissions } from '@switchyard/contract';

/** Every device may read its own configuration, whichever user is signed in. */
const alwaysAtDevice: ReadonlySet<Permission> = new Set(['conf.read', 'dev.read']);

export function permissionsOfRoles(roles: readonly RoleName[]): readonly Permission[] {
  const granted = new Set<Permission>(roles.flatMap((role) => rolePermissions[role]));
  return permissions.filter((permission) => granted.has(permission));
}

const devicePermissions = permissionsOfRoles(['Device']);

/**
 * At a device, a user has only permissions that devices have and that the user has anywhere. A
 * token of a device never gives more rights.
 */
export function effectivePermissions(
  isAtDevice: boolean,
  granted: readonly Permission[],
): readonly Permission[] {
  if (!isAtDevice) return granted;
  return devicePermissions.filter(
    (permission) => alwaysAtDevice.has(permission) || granted.includes(permission),
  );
}
