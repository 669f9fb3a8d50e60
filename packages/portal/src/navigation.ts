/** The navigation items; the sidebar and the command palette use them. */

import type { PortalName } from './app/current-portal.ts';
import { isAccessibleTo, type PortalUser, type ScreenAccess } from './app/screen-access.ts';
import type { IconName } from './components/icon.tsx';

export type NavigationItem = ScreenAccess & {
  readonly to: string;
  /** A key of `locales/{language}/general/navigation.json`. */
  readonly labelKey: string;
  readonly icon: IconName;
};

export type NavigationSection = {
  readonly labelKey: string;
  readonly items: readonly NavigationItem[];
};

const bothPortals: readonly PortalName[] = ['portal', 'provider-portal'];
const portal: readonly PortalName[] = ['portal'];
const provider: readonly PortalName[] = ['provider-portal'];

export const navigation: readonly NavigationSection[] = [
  {
    labelKey: 'overview',
    items: [
      { to: '/', labelKey: 'home', icon: 'home', requiresOneOf: [], portals: bothPortals },
      {
        to: '/analytics',
        labelKey: 'analytics',
        icon: 'analytics',
        requiresOneOf: ['rep.read'],
        portals: portal,
      },
    ],
  },
  {
    labelKey: 'payments',
    items: [
      {
        to: '/payments',
        labelKey: 'payments',
        icon: 'payments',
        requiresOneOf: ['rep.read'],
        portals: portal,
      },
      {
        to: '/qr-payments',
        labelKey: 'qrPayments',
        icon: 'qr',
        requiresOneOf: ['pay.read'],
        portals: portal,
      },
      {
        to: '/virtual-terminal',
        labelKey: 'virtualTerminal',
        icon: 'terminal',
        requiresOneOf: ['pay.sale'],
        portals: portal,
        environments: ['demo'],
      },
      {
        to: '/settlements',
        labelKey: 'settlements',
        icon: 'settlements',
        requiresOneOf: ['rep.read'],
        portals: portal,
      },
    ],
  },
  {
    labelKey: 'estate',
    items: [
      {
        to: '/merchants',
        labelKey: 'merchants',
        icon: 'merchants',
        requiresOneOf: ['prov.read'],
        portals: portal,
      },
      {
        to: '/stores',
        labelKey: 'stores',
        icon: 'store',
        requiresOneOf: ['prov.read'],
        portals: portal,
      },
      {
        to: '/devices',
        labelKey: 'devices',
        icon: 'device',
        requiresOneOf: ['dev.read', 'prov.read'],
        portals: portal,
      },
      {
        to: '/points-of-sale',
        labelKey: 'pointsOfSale',
        icon: 'till',
        requiresOneOf: ['prov.read'],
        portals: portal,
      },
      {
        to: '/acquirers',
        labelKey: 'acquirers',
        icon: 'link',
        requiresOneOf: ['prov.read'],
        portals: portal,
        isOrganizationOnly: true,
      },
      {
        to: '/imports',
        labelKey: 'imports',
        icon: 'imports',
        requiresOneOf: ['prov.write'],
        portals: portal,
      },
    ],
  },
  {
    labelKey: 'services',
    items: [
      {
        to: '/services',
        labelKey: 'services',
        icon: 'services',
        requiresOneOf: ['sub.read', 'conf.read'],
        portals: portal,
      },
      {
        to: '/own-services',
        labelKey: 'ownServices',
        icon: 'services',
        requiresOneOf: ['svc.read'],
        portals: provider,
      },
      {
        to: '/own-payments',
        labelKey: 'ownPayments',
        icon: 'payments',
        requiresOneOf: ['svc.read'],
        portals: provider,
      },
    ],
  },
  {
    labelKey: 'reports',
    items: [
      {
        to: '/exports',
        labelKey: 'exports',
        icon: 'exports',
        requiresOneOf: ['rep.export'],
        portals: portal,
      },
      {
        to: '/reconciliations',
        labelKey: 'reconciliations',
        icon: 'columns',
        requiresOneOf: ['rep.read'],
        portals: portal,
        isOrganizationOnly: true,
      },
    ],
  },
  {
    labelKey: 'administration',
    items: [
      {
        to: '/users',
        labelKey: 'users',
        icon: 'users',
        requiresOneOf: ['um.read'],
        portals: bothPortals,
      },
      {
        to: '/sign-ups',
        labelKey: 'signUps',
        icon: 'mail',
        requiresOneOf: ['onb.approve'],
        portals: portal,
        isOrganizationOnly: true,
        isOperatorOnly: true,
      },
      {
        to: '/claim-conflicts',
        labelKey: 'claimConflicts',
        icon: 'device',
        requiresOneOf: ['onb.approve'],
        portals: portal,
        isOrganizationOnly: true,
        isOperatorOnly: true,
      },
      {
        to: '/configuration',
        labelKey: 'configuration',
        icon: 'configuration',
        requiresOneOf: ['conf.read'],
        portals: portal,
      },
      {
        to: '/health',
        labelKey: 'health',
        icon: 'health',
        requiresOneOf: ['audit.read'],
        portals: portal,
        isOrganizationOnly: true,
      },
    ],
  },
  {
    labelKey: 'developers',
    items: [
      {
        to: '/applications',
        labelKey: 'applications',
        icon: 'applications',
        requiresOneOf: ['app.read', 'um.write'],
        portals: bothPortals,
      },
      {
        to: '/webhooks',
        labelKey: 'webhooks',
        icon: 'webhooks',
        requiresOneOf: ['hook.read'],
        portals: bothPortals,
      },
      {
        to: '/events',
        labelKey: 'events',
        icon: 'events',
        requiresOneOf: ['hook.read'],
        portals: bothPortals,
      },
      {
        to: '/console',
        labelKey: 'console',
        icon: 'book',
        requiresOneOf: ['app.read', 'hook.read', 'svc.read'],
        portals: bothPortals,
      },
      {
        to: '/test-cards',
        labelKey: 'testCards',
        icon: 'payments',
        requiresOneOf: [],
        portals: bothPortals,
        environments: ['demo'],
      },
      {
        to: '/logs',
        labelKey: 'logs',
        icon: 'logs',
        requiresOneOf: ['app.read', 'hook.read'],
        portals: bothPortals,
      },
      {
        to: '/audit',
        labelKey: 'audit',
        icon: 'audit',
        requiresOneOf: ['audit.read'],
        portals: bothPortals,
      },
    ],
  },
];

/** The sections and items that this user may open. */
export function navigationFor(visitor: PortalUser, entry: PortalName): NavigationSection[] {
  return navigation
    .map(({ labelKey, items }) => ({
      labelKey,
      items: items.filter((item) => isAccessibleTo(item, visitor, entry)),
    }))
    .filter(({ items }) => items.length > 0);
}
