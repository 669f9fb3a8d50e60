// Shows a user in the words of the contract; password and secrets stay inside.
import type { UserView } from '@switchyard/contract';
import type { User } from '../identity/index.ts';
import { isoTime } from '../platform/index.ts';

/** What is set by nobody who edits: it may come back as it was read. */
export function readOnlyOf(user: User, userDomainId: string) {
  return {
    userId: user.userId,
    userDomainId,
    organizationId: user.organizationId,
    username: user.username,
    entityId: user.entityId,
    scope: user.scopeEntityId,
    emailVerified: user.emailVerified,
    pendingEmail: user.pendingEmail,
    status: user.status === 'Enabled' ? ('activated' as const) : ('deactivated' as const),
    secondFactor: user.secondFactor,
    createdAt: isoTime(user.createdAt),
    updatedAt: isoTime(user.updatedAt),
  };
}

/** Members that have no value are left out. */
export function viewOf(user: User, userDomainId: string): UserView {
  const { email, givenName, familyName, phoneNumber, address, locale } = user;
  const { zoneinfo, datetimeFormat } = user;
  const members = {
    ...readOnlyOf(user, userDomainId),
    email,
    givenName,
    familyName,
    phoneNumber,
    address,
    locale,
    zoneinfo,
    datetimeFormat,
    groups: [...user.groups],
  };
  const told = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(told) as UserView;
}
