// Defines the users of the demo: one of each group, and one manager with only a password.
import type { GroupName } from '@switchyard/contract';
import {
  acquirerUserDomain,
  type DemoUserDomain,
  demoMerchants,
  demoServiceProvider,
} from './demo-data.ts';

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

const [cafe, outfitter] = demoMerchants;

const acquirerUser = {
  employer: 'the acquirer',
  hasOneTimePassword: true,
  locale: 'en-GB',
  zoneinfo: 'Europe/London',
} as const;
const cafeUser = {
  merchantId: cafe.merchantId,
  employer: cafe.name,
  hasOneTimePassword: true,
  locale: 'fr-FR',
  zoneinfo: cafe.timeZone,
} as const;
const outfitterUser = {
  merchantId: outfitter.merchantId,
  employer: outfitter.name,
  hasOneTimePassword: true,
  locale: 'en-NL',
  zoneinfo: outfitter.timeZone,
} as const;

export const demoUsers: readonly DemoUserAccount[] = [
  {
    ...acquirerUser,
    username: 'admin',
    givenName: 'Ada',
    familyName: 'Whitfield',
    group: 'org_admin',
  },
  {
    ...acquirerUser,
    username: 'care',
    givenName: 'Colin',
    familyName: 'Marsh',
    group: 'org_custcare',
  },
  {
    ...acquirerUser,
    username: 'fleet',
    givenName: 'Freya',
    familyName: 'Dunn',
    group: 'org_dfo',
  },
  {
    ...acquirerUser,
    username: 'developer',
    givenName: 'Devi',
    familyName: 'Rao',
    group: 'org_dev',
  },
  {
    ...cafeUser,
    username: 'manager',
    givenName: 'Margaux',
    familyName: 'Lefèvre',
    group: 'merchant_manager',
    // From the number range that France reserves for fiction.
    phoneNumber: '+33639980010',
  },
  {
    ...cafeUser,
    username: 'demo',
    givenName: 'Denis',
    familyName: 'Moreau',
    group: 'merchant_manager',
    hasOneTimePassword: false,
  },
  {
    ...cafeUser,
    username: 'merchant-developer',
    givenName: 'Mina',
    familyName: 'Roche',
    group: 'merchant_dev',
  },
  {
    ...cafeUser,
    username: 'supervisor',
    givenName: 'Sonia',
    familyName: 'Petit',
    group: 'org_supervisor',
  },
  {
    ...cafeUser,
    username: 'operator',
    givenName: 'Omar',
    familyName: 'Benali',
    group: 'org_operator',
  },
  {
    ...outfitterUser,
    username: 'other-manager',
    givenName: 'Otto',
    familyName: 'Visser',
    group: 'merchant_manager',
  },
];

/** These users sign in to the provider portal with only a password. */
export const providerUsers: readonly DemoUserAccount[] = [
  {
    username: 'provider',
    givenName: 'Priya',
    familyName: 'Nair',
    group: 'org_admin',
    hasOneTimePassword: false,
    employer: demoServiceProvider.name,
    locale: 'en-GB',
    zoneinfo: 'Europe/London',
    userDomain: demoServiceProvider,
  },
];

export const userDomainOf = ({
  userDomain = acquirerUserDomain,
}: Pick<DemoUserAccount, 'userDomain'>): DemoUserDomain => userDomain;

export const entityIdOf = (user: DemoUserAccount): string =>
  user.merchantId ?? userDomainOf(user).organizationId;

export const groupIdOf = (user: DemoUserAccount): string => `${entityIdOf(user)}_${user.group}`;
