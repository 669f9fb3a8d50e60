// Builds the view of the signed-in user for the pages from current data, not from the sign-in.
import {
  type Permission,
  type PortalEntry,
  throwProblem,
  type PortalSession as View,
} from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Identity, User } from '../../identity/index.ts';
import { isoTime, type Settings } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { idleMs, type PortalSession } from './sessions.ts';

export type SessionViewDeps = {
  readonly settings: Pick<Settings, 'environment' | 'region' | 'authUrl'>;
  readonly identity: Pick<Identity, 'isOperator'> & {
    readonly accounts: Pick<Identity['accounts'], 'find'>;
  };
  readonly provisioning: Pick<Provisioning, 'organizations' | 'merchants' | 'findDevice'>;
};

/**
 * Returns the portals of a user: users of a service provider have their own, and users that declare
 * services have both.
 */
export function portalsOf(
  persona: string | undefined,
  { entityType, permissions }: Pick<Caller, 'entityType' | 'permissions'>,
): PortalEntry[] {
  if (persona === 'ServiceProvider') return ['provider-portal'];
  const declares = entityType === 'tenant' && permissions.has('svc.write');
  return declares ? ['portal', 'provider-portal'] : ['portal'];
}

function nameOf({ givenName, familyName, username }: User): string {
  const names = [givenName, familyName].filter((name) => name !== undefined);
  return names.length === 0 ? username : names.join(' ');
}

/** Omits the members without a value. */
const withoutUndefined = <Facts extends object>(facts: Facts) =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));

function userView(user: User): View['user'] {
  const { userId: sub, username, email, givenName, familyName } = user;
  const { locale, zoneinfo, datetimeFormat } = user;
  return {
    sub,
    username,
    email,
    name: nameOf(user),
    ...withoutUndefined({ givenName, familyName, locale, zoneinfo, datetimeFormat }),
  };
}

export type BuildSessionView = (session: PortalSession, caller: Caller) => Promise<View>;

export function createSessionView({
  settings,
  identity,
  provisioning,
}: SessionViewDeps): BuildSessionView {
  const { environment, region, authUrl } = settings;

  async function merchantOf({ organizationId, merchantId }: Caller) {
    if (merchantId === undefined) return {};
    const { view } = await provisioning.merchants.get({ organizationId }, merchantId);
    return { merchantId, merchantName: view.name };
  }

  return async (session, caller) => {
    const { organizationId, permissions, entityType } = caller;
    const [user, { view: organization }, merchant, isOperator] = await Promise.all([
      identity.accounts.find(organizationId, session.userId),
      provisioning.organizations.get({ organizationId }, organizationId),
      merchantOf(caller),
      identity.isOperator(organizationId),
    ]);
    if (user === undefined)
      return throwProblem('token_expired', 'The session has ended: sign in again.');
    return {
      user: userView(user),
      userDomainId: session.userDomainId,
      organizationId,
      organizationName: organization.name,
      ...merchant,
      entityType,
      permissions: [...permissions] satisfies Permission[],
      groups: [...user.groups],
      entries: portalsOf(organization.labels?.['persona'], caller),
      ...(isOperator && entityType === 'tenant' ? { isOperator } : {}),
      environment,
      region,
      accountUrl: `${authUrl}/auth/realms/${session.userDomainId}/account`,
      idleSeconds: idleMs / 1000,
      expiresAt: isoTime(session.expiresAt),
      endsAt: isoTime(session.endsAt),
    };
  };
}
