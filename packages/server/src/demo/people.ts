// Defines the users of the demo: one of each group, and one manager with only a password.
import type { GroupName } from '@switchyard/contract';
import { acquirerHome, type DemoHome, demoMerchants, demoServiceProvider } from './catalogue.ts';

export type DemoPerson = {
  readonly username: string;
  readonly givenName: string;
  readonly familyName: string;
  /** The merchant of the user; without it the user belongs to the organisation. */
  readonly merchantId?: string;
  readonly group: GroupName;
  readonly hasOneTimePassword: boolean;
  /** The employer in the printed table. */
  readonly worksFor: string;
  readonly locale: string;
  readonly zoneinfo: string;
  readonly phoneNumber?: string;
  /** The default is the acquirer, also for users of its merchants. */
  readonly home?: DemoHome;
};

const [cafe, outfitter] = demoMerchants;

const ofAcquirer = {
  worksFor: 'the acquirer',
  hasOneTimePassword: true,
  locale: 'en-GB',
  zoneinfo: 'Europe/London',
} as const;
const ofCafe = {
  merchantId: cafe.merchantId,
  worksFor: cafe.name,
  hasOneTimePassword: true,
  locale: 'fr-FR',
  zoneinfo: cafe.timeZone,
} as const;
const ofOutfitter = {
  merchantId: outfitter.merchantId,
  worksFor: outfitter.name,
  hasOneTimePassword: true,
  locale: 'en-NL',
  zoneinfo: outfitter.timeZone,
} as const;

export const demoPeople: readonly DemoPerson[] = [
  {
    ...ofAcquirer,
    username: 'admin',
    givenName: 'Ada',
    familyName: 'Whitfield',
    group: 'org_admin',
  },
  {
    ...ofAcquirer,
    username: 'care',
    givenName: 'Colin',
    familyName: 'Marsh',
    group: 'org_custcare',
  },
  {
    ...ofAcquirer,
    username: 'fleet',
    givenName: 'Freya',
    familyName: 'Dunn',
    group: 'org_dfo',
  },
  {
    ...ofAcquirer,
    username: 'developer',
    givenName: 'Devi',
    familyName: 'Rao',
    group: 'org_dev',
  },
  {
    ...ofCafe,
    username: 'manager',
    givenName: 'Margaux',
    familyName: 'Lefèvre',
    group: 'merchant_manager',
    // From the number range that France reserves for fiction.
    phoneNumber: '+33639980010',
  },
  {
    ...ofCafe,
    username: 'demo',
    givenName: 'Denis',
    familyName: 'Moreau',
    group: 'merchant_manager',
    hasOneTimePassword: false,
  },
  {
    ...ofCafe,
    username: 'merchant-developer',
    givenName: 'Mina',
    familyName: 'Roche',
    group: 'merchant_dev',
  },
  {
    ...ofCafe,
    username: 'supervisor',
    givenName: 'Sonia',
    familyName: 'Petit',
    group: 'org_supervisor',
  },
  {
    ...ofCafe,
    username: 'operator',
    givenName: 'Omar',
    familyName: 'Benali',
    group: 'org_operator',
  },
  {
    ...ofOutfitter,
    username: 'other-manager',
    givenName: 'Otto',
    familyName: 'Visser',
    group: 'merchant_manager',
  },
];

/** These users sign in to the provider portal with only a password. */
export const providerPeople: readonly DemoPerson[] = [
  {
    username: 'provider',
    givenName: 'Priya',
    familyName: 'Nair',
    group: 'org_admin',
    hasOneTimePassword: false,
    worksFor: demoServiceProvider.name,
    locale: 'en-GB',
    zoneinfo: 'Europe/London',
    home: demoServiceProvider,
  },
];

export const homeOf = ({ home = acquirerHome }: Pick<DemoPerson, 'home'>): DemoHome => home;

export const entityOf = (person: DemoPerson): string =>
  person.merchantId ?? homeOf(person).organizationId;

export const groupOf = (person: DemoPerson): string => `${entityOf(person)}_${person.group}`;
