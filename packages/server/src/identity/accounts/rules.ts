// What names, groups, passwords and second factors may be: decided here, without clock or database.
import {
  type GroupName,
  groupLevels,
  groupPermissions,
  type Permission,
  permissions,
} from '@switchyard/contract';
import type { EntityType } from '../realms-and-keys/realm.ts';
import type { SecondFactor, User } from './types.ts';

/**
 * ASCII alone, so that no letter of another script can pass for one of these. `@` is there for
 * those who use their mail address; the first step of a sign-in splits at the last one.
 */
const usernamePattern = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;
const uuidChars = 36;

/** NFKC: what looks alike by compatibility, such as full-width letters, is the same name. */
export function preparedUsername(name: string): string {
  return name.normalize('NFKC');
}

/** The name as it is compared and unique, or undefined where nobody can have it. */
export function usernameKey(name: string): string | undefined {
  // Longer than any name in any form: not worth the work of normalising.
  if (name.length > 256) return undefined;
  const key = preparedUsername(name).toLowerCase();
  return usernamePattern.test(key) ? key : undefined;
}

const levels: Readonly<Record<EntityType, string>> = {
  tenant: 'organization',
  merchant: 'merchant',
};

/** `{entityId}_org_admin` without the entity; undefined where it is no group of this entity. */
function groupOf(name: string, entityType: EntityType, entityId: string): GroupName | undefined {
  if (!name.startsWith(`${entityId}_`)) return undefined;
  const group = name.slice(entityId.length + 1);
  if (!Object.hasOwn(groupLevels, group)) return undefined;
  const known = group as GroupName;
  return groupLevels[known] === levels[entityType] ? known : undefined;
}

/** Whether each is a group of the user's own entity and level, and none stands there twice. */
export function groupsFit(
  groups: readonly string[],
  entityType: EntityType,
  entityId: string,
): boolean {
  if (new Set(groups).size !== groups.length) return false;
  return groups.every((name) => groupOf(name, entityType, entityId) !== undefined);
}

/** The union of what the groups allow, in the order of the published list. */
export function permissionsOfGroups(
  groups: readonly string[],
  entityType: EntityType,
  entityId: string,
): readonly Permission[] {
  const granted = new Set(
    groups.flatMap((name) => {
      const group = groupOf(name, entityType, entityId);
      return group === undefined ? [] : groupPermissions[group];
    }),
  );
  return permissions.filter((permission) => granted.has(permission));
}

/** They stand at a till that others look at, and sign in many times a day. */
const storeStaff: ReadonlySet<string> = new Set(['org_operator', 'org_supervisor']);

/** In production everybody but store staff proves a second thing; who has no group is no staff. */
export function mustHaveSecondFactor(environment: string, groups: readonly string[]): boolean {
  if (environment !== 'production') return false;
  const isStaff = (name: string) => storeStaff.has(name.slice(uuidChars + 1));
  return groups.length === 0 || !groups.every(isStaff);
}

/** What counts at this sign-in: the rule may have become stricter than when the user was made. */
export function secondFactorNow(
  environment: string,
  user: Pick<User, 'groups' | 'secondFactor'>,
): SecondFactor {
  if (user.secondFactor !== 'Off') return user.secondFactor;
  return mustHaveSecondFactor(environment, user.groups) ? 'Required' : 'Off';
}

/** Alone, and where a second factor stands beside it (NIST SP 800-63B-4, 3.1.1.2). */
const leastCharacters = { alone: 15, withSecondFactor: 12 } as const;
export const passwordCharactersMax = 128;

export type PasswordFault = 'too_short' | 'too_long' | 'too_common';

/** As RFC 8265 prepares an OpaqueString: one form for each text, and one kind of space. */
export function preparedPassword(password: string): string {
  return password
    .toWellFormed()
    .replace(/\p{Zs}/gu, ' ')
    .normalize('NFC');
}

/** In code points of the prepared form. A text that no preparing could shorten enough is not counted. */
export function passwordLengthFault(
  password: string,
  hasSecondFactor: boolean,
): PasswordFault | undefined {
  if (password.length > passwordCharactersMax * 8) return 'too_long';
  const characters = [...preparedPassword(password)].length;
  if (characters > passwordCharactersMax) return 'too_long';
  const least = hasSecondFactor ? leastCharacters.withSecondFactor : leastCharacters.alone;
  return characters < least ? 'too_short' : undefined;
}
