// What an application or a person may do: unions of the published table, in its order.
import { type Permission, permissions, type RoleName, rolePermissions } from '@switchyard/contract';

/** A device reads its own settings and itself, whoever stands at it. */
const deviceOwn: ReadonlySet<Permission> = new Set(['conf.read', 'dev.read']);

export function permissionsOf(roles: readonly RoleName[]): readonly Permission[] {
  const granted = new Set<Permission>(roles.flatMap((role) => rolePermissions[role]));
  return permissions.filter((permission) => granted.has(permission));
}

const ofDevices = permissionsOf(['Device']);

/**
 * At a device a person does what devices do, and of that only what is theirs to do anywhere: a
 * token of a device is no way to more rights, nor to an office's.
 */
export function permissionsAt(
  atDevice: boolean,
  own: readonly Permission[],
): readonly Permission[] {
  if (!atDevice) return own;
  return ofDevices.filter((permission) => deviceOwn.has(permission) || own.includes(permission));
}
