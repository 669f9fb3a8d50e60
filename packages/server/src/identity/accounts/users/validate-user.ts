// Validates new users and profiles: user name, entity, scope, groups, and the fields of the profile.
import { throwProblem } from '@switchyard/contract';
import { type Ids, isLowerCaseUuid } from '../../../platform/index.ts';
import type { NewUser, SecondFactorStatus, User, UserProfile } from '../types.ts';
import {
  areGroupsAllowed,
  normalizeUsername,
  permissionsOfGroups,
  requiresSecondFactor,
  toUsernameKey,
} from './username-and-group-rules.ts';

const maxTextLength = 200;
/** The check of browsers for `type=email`: no character that has a meaning in an email header. */
const emailPattern =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
const maxEmailLength = 254;
const phonePattern = /^\+?[0-9 ().-]{3,32}$/;

export type BuiltUser = { readonly user: User; readonly usernameKey: string };

export function buildUser(newUser: NewUser, environment: string, ids: Ids, now: number): BuiltUser {
  const key = toUsernameKey(newUser.username);
  if (key === undefined) {
    throwProblem(
      'field_invalid',
      'A user name has 1 to 64 letters, digits and . _ - + @, and starts with a letter or digit.',
    );
  }
  requireValidEntity(newUser);
  requireValidProfile(newUser, newUser);
  const { entityType, entityId, groups } = newUser;
  const { userDomainId: _domain, password: _password, otpSecret: _otp, ...profile } = newUser;
  const user: User = {
    ...profile,
    username: normalizeUsername(newUser.username),
    userId: newUser.userId ?? ids.uuidV4(),
    scopeEntityType: newUser.scopeEntityType ?? entityType,
    scopeEntityId: newUser.scopeEntityId ?? entityId,
    emailVerified: newUser.emailVerified ?? false,
    pendingEmail: undefined,
    phoneNumberVerified: false,
    permissions: permissionsOfGroups(groups, entityType, entityId),
    status: 'Enabled',
    secondFactor: initialSecondFactor(newUser, environment),
    hasPassword: newUser.password !== undefined,
    version: 1,
    createdAt: now,
    updatedAt: now,
  };
  return { user, usernameKey: key };
}

function requireValidEntity(newUser: NewUser): void {
  const { organizationId, entityType, entityId, userId } = newUser;
  const { scopeEntityType = entityType, scopeEntityId = entityId } = newUser;
  const isOwnEntity = entityType === 'merchant' || entityId === organizationId;
  const isScopeWithinEntity =
    entityType === 'merchant'
      ? scopeEntityType === 'merchant' && scopeEntityId === entityId
      : scopeEntityType === 'merchant' || scopeEntityId === organizationId;
  if (!isOwnEntity || !isScopeWithinEntity) {
    throwProblem(
      'entity_mismatch',
      'The entity of a user must belong to the organisation, and its scope must be within that entity.',
    );
  }
  const identifiers = [entityId, scopeEntityId, ...(userId === undefined ? [] : [userId])];
  if (!identifiers.every((name) => isLowerCaseUuid(name))) {
    throwProblem('field_invalid', 'The identifiers of entity, scope and user must be UUIDs.');
  }
}

function initialSecondFactor(newUser: NewUser, environment: string): SecondFactorStatus {
  if (newUser.otpSecret !== undefined) return 'On';
  if (newUser.secondFactor === 'On') {
    throwProblem(
      'field_invalid',
      'The user has not set up a second factor: use Required instead of On.',
    );
  }
  return requiresSecondFactor(environment, newUser.groups) ? 'Required' : newUser.secondFactor;
}

export function isValidEmail(text: string): boolean {
  return text.length <= maxEmailLength && emailPattern.test(text);
}

/** The second argument is the entity of the user; it decides which groups are allowed. */
export function requireValidProfile(
  profile: UserProfile,
  { entityType, entityId }: Pick<User, 'entityType' | 'entityId'>,
): void {
  if (!areGroupsAllowed(profile.groups, entityType, entityId)) {
    throwInvalidMember('groups', 'must be groups of the entity and level of the user, each once');
  }
  if (!isValidTimeZone(profile.zoneinfo))
    throwInvalidMember('zoneinfo', 'is not a name of the time zone database');
  const texts = [profile.givenName, profile.familyName, profile.datetimeFormat];
  const address = Object.values(profile.address ?? {});
  const isValid =
    isValidEmail(profile.email) &&
    texts.every(isValidText) &&
    // A formatted address may have several lines.
    address.every((line) => isValidText(line.replaceAll(/\r?\n/g, ' '))) &&
    (profile.phoneNumber === undefined || phonePattern.test(profile.phoneNumber)) &&
    isValidLocale(profile.locale);
  if (!isValid)
    throwProblem(
      'field_invalid',
      'A field of the profile has an invalid value: email, names, address, phone number or locale.',
    );
}

function throwInvalidMember(member: string, detail: string): never {
  const error = { pointer: `/${member}`, code: 'field_invalid', detail };
  return throwProblem('field_invalid', `${member} ${detail}.`, { errors: [error] });
}

function isValidText(text: string | undefined): boolean {
  if (text === undefined) return true;
  return text.isWellFormed() && text.length <= maxTextLength && /^\P{Cc}+$/u.test(text);
}

function isValidLocale(locale: string | undefined): boolean {
  if (locale === undefined) return true;
  try {
    return locale.length <= maxTextLength && Intl.getCanonicalLocales(locale).length === 1;
  } catch {
    return false;
  }
}

function isValidTimeZone(zone: string | undefined): boolean {
  if (zone === undefined) return true;
  try {
    return (
      zone.length <= maxTextLength && new Intl.DateTimeFormat('en', { timeZone: zone }) !== null
    );
  } catch {
    return false;
  }
}
