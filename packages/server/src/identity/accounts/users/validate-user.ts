// Checks what a new user is to be, and makes it: names, entity, scope, groups, and the words of the profile.
import { refuse } from '@switchyard/contract';
import type { Ids } from '../../../platform/index.ts';
import type { NewUser, Profile, SecondFactor, User } from '../types.ts';
import {
  groupsFit,
  mustHaveSecondFactor,
  permissionsOfGroups,
  preparedUsername,
  usernameKey,
} from './rules.ts';

const textCharsMax = 200;
/** As browsers check `type=email`: nothing in it that could mean something in a mail's head. */
const emailPattern =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
const emailCharsMax = 254;
const phonePattern = /^\+?[0-9 ().-]{3,32}$/;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type MadeUser = { readonly user: User; readonly usernameKey: string };

export function makeUser(wanted: NewUser, environment: string, ids: Ids, at: number): MadeUser {
  const key = usernameKey(wanted.username);
  if (key === undefined) {
    refuse(
      'field_invalid',
      'A user name has 1 to 64 letters, digits and . _ - + @, and begins with a letter or digit.',
    );
  }
  checkEntity(wanted);
  checkProfile(wanted, wanted);
  const { entityType, entityId, groups } = wanted;
  const { userDomainId: _domain, password: _password, otpSecret: _otp, ...profile } = wanted;
  const user: User = {
    ...profile,
    username: preparedUsername(wanted.username),
    userId: wanted.userId ?? ids.uuidV4(),
    scopeEntityType: wanted.scopeEntityType ?? entityType,
    scopeEntityId: wanted.scopeEntityId ?? entityId,
    emailVerified: wanted.emailVerified ?? false,
    pendingEmail: undefined,
    phoneNumberVerified: false,
    permissions: permissionsOfGroups(groups, entityType, entityId),
    status: 'Enabled',
    secondFactor: factorOf(wanted, environment),
    hasPassword: wanted.password !== undefined,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
  return { user, usernameKey: key };
}

function checkEntity(wanted: NewUser): void {
  const { organizationId, entityType, entityId, userId } = wanted;
  const { scopeEntityType = entityType, scopeEntityId = entityId } = wanted;
  const isOwn = entityType === 'merchant' || entityId === organizationId;
  const isScope =
    entityType === 'merchant'
      ? scopeEntityType === 'merchant' && scopeEntityId === entityId
      : scopeEntityType === 'merchant' || scopeEntityId === organizationId;
  if (!isOwn || !isScope) {
    refuse(
      'entity_mismatch',
      'A user belongs to an entity of the organisation, and acts within it.',
    );
  }
  const names = [entityId, scopeEntityId, ...(userId === undefined ? [] : [userId])];
  if (!names.every((name) => uuidPattern.test(name))) {
    refuse('field_invalid', 'The entity, the scope and the user are named by UUIDs.');
  }
}

function factorOf(wanted: NewUser, environment: string): SecondFactor {
  if (wanted.otpSecret !== undefined) return 'On';
  if (wanted.secondFactor === 'On') {
    refuse('field_invalid', 'A second factor is on once one is set up.');
  }
  return mustHaveSecondFactor(environment, wanted.groups) ? 'Required' : wanted.secondFactor;
}

export function isEmail(text: string): boolean {
  return text.length <= emailCharsMax && emailPattern.test(text);
}

/** @param of where the user belongs, and with that the groups */
export function checkProfile(
  wanted: Profile,
  { entityType, entityId }: Pick<User, 'entityType' | 'entityId'>,
): void {
  if (!groupsFit(wanted.groups, entityType, entityId)) {
    refuseMember('groups', 'hold each group of the entity and the level of the user, once');
  }
  if (!isZone(wanted.zoneinfo)) refuseMember('zoneinfo', 'is no name of the time zone database');
  const texts = [wanted.givenName, wanted.familyName, wanted.datetimeFormat];
  const address = Object.values(wanted.address ?? {});
  const isFine =
    isEmail(wanted.email) &&
    texts.every(isText) &&
    // An address may be formatted in several lines.
    address.every((line) => isText(line.replaceAll(/\r?\n/g, ' '))) &&
    (wanted.phoneNumber === undefined || phonePattern.test(wanted.phoneNumber)) &&
    isLocale(wanted.locale);
  if (!isFine) refuse('field_invalid', 'A field of the profile cannot be used.');
}

function refuseMember(member: string, detail: string): never {
  const error = { pointer: `/${member}`, code: 'field_invalid', detail };
  return refuse('field_invalid', `${member} ${detail}.`, { errors: [error] });
}

function isText(text: string | undefined): boolean {
  if (text === undefined) return true;
  return text.isWellFormed() && text.length <= textCharsMax && /^\P{Cc}+$/u.test(text);
}

function isLocale(locale: string | undefined): boolean {
  if (locale === undefined) return true;
  try {
    return locale.length <= textCharsMax && Intl.getCanonicalLocales(locale).length === 1;
  } catch {
    return false;
  }
}

function isZone(zone: string | undefined): boolean {
  if (zone === undefined) return true;
  try {
    return (
      zone.length <= textCharsMax && new Intl.DateTimeFormat('en', { timeZone: zone }) !== null
    );
  } catch {
    return false;
  }
}
