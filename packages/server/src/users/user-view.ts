// Converts a user to the view of the API; it contains no password and no secrets.
import type { UserView } from '@switchyard/contract';
import type { User } from '../identity/index.ts';
import { isoTime } from '../platform/index.ts';

/** Members that an update cannot change; a client may send them back unchanged. */
export function readOnlyMembers(user: User, userDomainId: string) {
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

/** Omits members without a value. */
export function toUserView(user: User, userDomainId: string): UserView {
  const { email, givenName, familyName, phoneNumber, address, locale } = user;
  const { zoneinfo, datetimeFormat } = user;
  const members = {
    ...readOnlyMembers(user, userDomainId),
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
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as UserView;
}
