// Rules for user names, groups and second factors, without clock or database.
import {
  type GroupName,
  groupLevels,
  groupPermissions,
  type Permission,
  permissions,
} from '@switchyard/contract';
import type { EntityType } from '../../realms-and-keys/realm-types.ts';
import type { SecondFactorStatus, User } from '../types.ts';

/**
 * ASCII only, so that no letter of another script looks like one of these. `@` is allowed for
 * users who take their email address; the first step of the sign-in splits at the last `@`.
 */
const usernamePattern = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;
const uuidLength = 36;

/** NFKC: compatibility forms, such as full-width letters, are the same name. */
export function normalizeUsername(name: string): string {
  return name.normalize('NFKC');
}

/** The form in which names are compared and unique; undefined if the name is not allowed. */
export function toUsernameKey(name: string): string | undefined {
  // Longer than any allowed name in any form: skip the cost of normalization.
  if (name.length > 256) return undefined;
  const key = normalizeUsername(name).toLowerCase();
  return usernamePattern.test(key) ? key : undefined;
}

const groupLevelOfEntity: Readonly<Record<EntityType, string>> = {
  tenant: 'organization',
  merchant: 'merchant',
};

/** `org_admin` from `{entityId}_org_admin`; undefined if this is not a group of the entity. */
function parseGroupName(
  name: string,
  entityType: EntityType,
  entityId: string,
): GroupName | undefined {
  if (!name.startsWith(`${entityId}_`)) return undefined;
  const group = name.slice(entityId.length + 1);
  if (!Object.hasOwn(groupLevels, group)) return undefined;
  const groupName = group as GroupName;
  return groupLevels[groupName] === groupLevelOfEntity[entityType] ? groupName : undefined;
}

/** True if every group belongs to the user's entity and level, and none is listed twice. */
export function areGroupsAllowed(
  groups: readonly string[],
  entityType: EntityType,
  entityId: string,
): boolean {
  if (new Set(groups).size !== groups.length) return false;
  return groups.every((name) => parseGroupName(name, entityType, entityId) !== undefined);
}

/** The union of the permissions of the groups, in the order of the published list. */
export function permissionsOfGroups(
  groups: readonly string[],
  entityType: EntityType,
  entityId: string,
): readonly Permission[] {
  const granted = new Set(
    groups.flatMap((name) => {
      const group = parseGroupName(name, entityType, entityId);
      return group === undefined ? [] : groupPermissions[group];
    }),
  );
  return permissions.filter((permission) => granted.has(permission));
}

/** Store staff work at a shared point of sale and sign in many times a day. */
const storeStaffGroups: ReadonlySet<string> = new Set(['org_operator', 'org_supervisor']);

/** Production requires a second factor of all users but store staff; a user without groups is not store staff. */
export function requiresSecondFactor(environment: string, groups: readonly string[]): boolean {
  if (environment !== 'production') return false;
  const isStaff = (name: string) => storeStaffGroups.has(name.slice(uuidLength + 1));
  return groups.length === 0 || !groups.every(isStaff);
}

/** The status at this sign-in: the rule may be stricter now than when the user was created. */
export function effectiveSecondFactor(
  environment: string,
  user: Pick<User, 'groups' | 'secondFactor'>,
): SecondFactorStatus {
  if (user.secondFactor !== 'Off') return user.secondFactor;
  return requiresSecondFactor(environment, user.groups) ? 'Required' : 'Off';
}
