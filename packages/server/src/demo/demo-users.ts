// Defines the users of the demo: one of each group, and one manager with only a password.
import type { GroupName } from '@switchyard/contract';
import { acquirerUserDomain, type DemoUserDomain, demoServiceProvider } from './demo-data.ts';
import estate from './demo-estate.json' with { type: 'json' };

export type DemoUserAccount = {
  readonly username: string;
  readonly givenName: string;
  readonly familyName: string;
  /** The merchant of the user; without it the user belongs to the organisation. */
  readonly merchantId?: string;
  readonly group: GroupName;
  readonly hasOneTimePassword: boolean;
  /** The employer in the printed table. */
  readonly employer: string;
  readonly locale: string;
  readonly zoneinfo: string;
  readonly phoneNumber?: string;
  /** The default is the acquirer, also for users of its merchants. */
  readonly userDomain?: DemoUserDomain;
};

/** One of each group, and one manager with only a password. */
export const demoUsers = estate.users as readonly DemoUserAccount[];

/** These users sign in to the provider portal with only a password. */
export const providerUsers = estate.serviceProvider.users.map(
  (user) => ({ ...user, userDomain: demoServiceProvider }) as DemoUserAccount,
);

export const userDomainOf = ({
  userDomain = acquirerUserDomain,
}: Pick<DemoUserAccount, 'userDomain'>): DemoUserDomain => userDomain;

export const entityIdOf = (user: DemoUserAccount): string =>
  user.merchantId ?? userDomainOf(user).organizationId;

export const groupIdOf = (user: DemoUserAccount): string => `${entityIdOf(user)}_${user.group}`;
