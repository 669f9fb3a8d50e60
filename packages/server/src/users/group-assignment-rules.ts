// Who may give, change and help back in whom: decided by groups and permissions alone.
import {
  type GroupName,
  groupLevels,
  groupPermissions,
  type Permission,
} from '@switchyard/contract';

/**
 * Permissions by which rights are given away or the house is arranged. What tills, fleets, refunds
 * and webhooks need is not among them, so that an administrator may give every group of his house.
 * `onb.approve` stands beside `org_admin` in every organisation, and means something at the
 * platform's own alone.
 */
const governing: ReadonlySet<Permission> = new Set<Permission>([
  'prov.write',
  'um.read',
  'um.write',
  'app.read',
  'app.write',
  'sub.write',
  'conf.write',
  'svc.write',
  'onb.write',
  'audit.read',
]);

/**
 * The applications of a merchant's developer wait for the approval of a user manager, so that a manager of the
 * merchant gives away no right by this group.
 */
const givenByUserManagers: GroupName = 'merchant_dev';

/** The name is the entity's identifier, a `_` and the group; undefined where it is no group. */
function groupOf(name: string): GroupName | undefined {
  const group = name.slice(name.indexOf('_') + 1);
  return Object.hasOwn(groupLevels, group) ? (group as GroupName) : undefined;
}

/** The first group that somebody with these permissions may neither give nor touch. */
export function groupBeyond(
  groups: readonly string[],
  held: ReadonlySet<Permission>,
): string | undefined {
  return groups.find((name) => {
    const group = groupOf(name);
    if (group === undefined) return false;
    if (group === givenByUserManagers) return !held.has('um.write');
    return groupPermissions[group].some(
      (permission) => governing.has(permission) && !held.has(permission),
    );
  });
}
