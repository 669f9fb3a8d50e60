// Which groups a caller may assign or manage, decided only by groups and permissions.
import {
  type GroupName,
  groupLevels,
  groupPermissions,
  type Permission,
} from '@switchyard/contract';

/**
 * Permissions to grant rights or to manage the organisation. Permissions for points of sale, devices,
 * refunds and webhooks are not included, so that an administrator may assign every group of the organisation.
 * `onb.approve` belongs to `org_admin` in every organisation, but has an effect only in the
 * organisation of the platform operator.
 */
const managementPermissions: ReadonlySet<Permission> = new Set<Permission>([
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
 * The applications of a merchant's developer need the approval of a user manager, so a manager of the
 * merchant grants no permission with this group.
 */
const userManagerGroup: GroupName = 'merchant_dev';

/** The group in a name of the form `{entityId}_{group}`; undefined if it is unknown. */
function parseGroupName(name: string): GroupName | undefined {
  const group = name.slice(name.indexOf('_') + 1);
  return Object.hasOwn(groupLevels, group) ? (group as GroupName) : undefined;
}

/** The first group that a caller with these permissions may neither assign nor manage. */
export function findForbiddenGroup(
  groups: readonly string[],
  callerPermissions: ReadonlySet<Permission>,
): string | undefined {
  return groups.find((name) => {
    const group = parseGroupName(name);
    if (group === undefined) return false;
    if (group === userManagerGroup) return !callerPermissions.has('um.write');
    return groupPermissions[group].some(
      (permission) => managementPermissions.has(permission) && !callerPermissions.has(permission),
    );
  });
}
