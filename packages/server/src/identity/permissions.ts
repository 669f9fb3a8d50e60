// What an application may do: the union of its roles' permissions, in the order of the published list.
import { type Permission, permissions, type RoleName, rolePermissions } from '@switchyard/contract';

export function permissionsOf(roles: readonly RoleName[]): readonly Permission[] {
  const granted = new Set<Permission>(roles.flatMap((role) => rolePermissions[role]));
  return permissions.filter((permission) => granted.has(permission));
}
