// What an application or a person may do: unions of the published table, in its order.
import { type Permission, permissions, type RoleName, rolePermissions } from '@switchyard/contract';

/** A device reads its own settings and itself, whoever stands at it. */
const alwaysAtDevice: ReadonlySet<Permission> = new Set(['conf.read', 'dev.read']);

export function permissionsOfRoles(roles: readonly RoleName[]): readonly Permission[] {
  const granted = new Set<Permission>(roles.flatMap((role) => rolePermissions[role]));
  return permissions.filter((permission) => granted.has(permission));
}

const devicePermissions = permissionsOfRoles(['Device']);

/**
 * At a device a person does what devices do, and of that only what is theirs to do anywhere: a
 * token of a device is no way to more rights, nor to an office's.
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
