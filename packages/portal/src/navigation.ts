/** Everything that can be gone to, in one table: the rail and the palette are made from it. */

import type { Entry } from './app/current-portal.ts';
import { type Access, isOpenTo, type Visitor } from './app/screen-access.ts';
import type { IconName } from './components/icon.tsx';

export type NavigationItem = Access & {
  readonly to: string;
  /** A word of `words/{language}/navigation.json`. */
  readonly word: string;
  readonly icon: IconName;
};

export type NavigationSection = {
  readonly word: string;
  readonly items: readonly NavigationItem[];
};

const bothPortals: readonly Entry[] = ['portal', 'provider-portal'];
const portal: readonly Entry[] = ['portal'];
const provider: readonly Entry[] = ['provider-portal'];

export const navigation: readonly NavigationSection[] = [
  {
    word: 'overview',
    items: [
      { to: '/', word: 'home', icon: 'home', needs: [], entries: bothPortals },
      {
        to: '/analytics',
        word: 'analytics',
        icon: 'analytics',
        needs: ['rep.read'],
        entries: portal,
      },
    ],
  },
  {
    word: 'payments',
    items: [
      { to: '/payments', word: 'payments', icon: 'payments', needs: ['rep.read'], entries: portal },
      {
        to: '/qr-payments',
        word: 'qrPayments',
        icon: 'qr',
        needs: ['pay.read'],
        entries: portal,
      },
      {
        to: '/virtual-terminal',
        word: 'virtualTerminal',
        icon: 'terminal',
        needs: ['pay.sale'],
        entries: portal,
        environments: ['demo'],
      },
      {
        to: '/settlements',
        word: 'settlements',
        icon: 'settlements',
        needs: ['rep.read'],
        entries: portal,
      },
    ],
  },
  {
    word: 'estate',
    items: [
      {
        to: '/merchants',
        word: 'merchants',
        icon: 'merchants',
        needs: ['prov.read'],
        entries: portal,
      },
      {
        to: '/stores',
        word: 'stores',
        icon: 'store',
        needs: ['prov.read'],
        entries: portal,
      },
      {
        to: '/devices',
        word: 'devices',
        icon: 'device',
        needs: ['dev.read', 'prov.read'],
        entries: portal,
      },
      {
        to: '/points-of-sale',
        word: 'pointsOfSale',
        icon: 'till',
        needs: ['prov.read'],
        entries: portal,
      },
      {
        to: '/acquirers',
        word: 'acquirers',
        icon: 'link',
        needs: ['prov.read'],
        entries: portal,
        isOfOrganization: true,
      },
      {
        to: '/imports',
        word: 'imports',
        icon: 'imports',
        needs: ['prov.write'],
        entries: portal,
      },
    ],
  },
  {
    word: 'services',
    items: [
      {
        to: '/services',
        word: 'services',
        icon: 'services',
        needs: ['sub.read', 'conf.read'],
        entries: portal,
      },
      {
        to: '/own-services',
        word: 'ownServices',
        icon: 'services',
        needs: ['svc.read'],
        entries: provider,
      },
      {
        to: '/own-payments',
        word: 'ownPayments',
        icon: 'payments',
        needs: ['svc.read'],
        entries: provider,
      },
    ],
  },
  {
    word: 'reports',
    items: [
      { to: '/exports', word: 'exports', icon: 'exports', needs: ['rep.export'], entries: portal },
      {
        to: '/reconciliations',
        word: 'reconciliations',
        icon: 'columns',
        needs: ['rep.read'],
        entries: portal,
        isOfOrganization: true,
      },
    ],
  },
  {
    word: 'administration',
    items: [
      { to: '/users', word: 'users', icon: 'users', needs: ['um.read'], entries: bothPortals },
      {
        to: '/sign-ups',
        word: 'signUps',
        icon: 'mail',
        needs: ['onb.approve'],
        entries: portal,
        isOfOrganization: true,
        isOfOperator: true,
      },
      {
        to: '/claim-conflicts',
        word: 'claimConflicts',
        icon: 'device',
        needs: ['onb.approve'],
        entries: portal,
        isOfOrganization: true,
        isOfOperator: true,
      },
      {
        to: '/configuration',
        word: 'configuration',
        icon: 'configuration',
        needs: ['conf.read'],
        entries: portal,
      },
      {
        to: '/health',
        word: 'health',
        icon: 'health',
        needs: ['audit.read'],
        entries: portal,
        isOfOrganization: true,
      },
    ],
  },
  {
    word: 'developers',
    items: [
      {
        to: '/applications',
        word: 'applications',
        icon: 'applications',
        needs: ['app.read', 'um.write'],
        entries: bothPortals,
      },
      {
        to: '/webhooks',
        word: 'webhooks',
        icon: 'webhooks',
        needs: ['hook.read'],
        entries: bothPortals,
      },
      {
        to: '/events',
        word: 'events',
        icon: 'events',
        needs: ['hook.read'],
        entries: bothPortals,
      },
      {
        to: '/console',
        word: 'console',
        icon: 'book',
        needs: ['app.read', 'hook.read', 'svc.read'],
        entries: bothPortals,
      },
      {
        to: '/test-cards',
        word: 'testCards',
        icon: 'payments',
        needs: [],
        entries: bothPortals,
        environments: ['demo'],
      },
      {
        to: '/logs',
        word: 'logs',
        icon: 'logs',
        needs: ['app.read', 'hook.read'],
        entries: bothPortals,
      },
      { to: '/audit', word: 'audit', icon: 'audit', needs: ['audit.read'], entries: bothPortals },
    ],
  },
];

/** What is left of the table for somebody, without sections that are empty then. */
export function navigationFor(visitor: Visitor, entry: Entry): NavigationSection[] {
  return navigation
    .map(({ word, items }) => ({
      word,
      items: items.filter((item) => isOpenTo(item, visitor, entry)),
    }))
    .filter(({ items }) => items.length > 0);
}
