/** The navigation items; the sidebar and the command palette use them. */
import type { PortalName } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import { isAccessibleTo, type PortalUser } from './app/screen-access.ts';
import type { IconName } from './components/icon.tsx';

type NavigationItem = {
  /** The path of a screen. */
  readonly to: string;
  /** A key of `locales/{language}/general/navigation.json`. */
  readonly labelKey: string;
  readonly icon: IconName;
};

export type NavigationSection = {
  readonly labelKey: string;
  readonly items: readonly NavigationItem[];
};

const navigation: readonly NavigationSection[] = [
  {
    labelKey: 'overview',
    items: [
      { to: '/', labelKey: 'home', icon: 'home' },
      { to: '/analytics', labelKey: 'analytics', icon: 'analytics' },
    ],
  },
  {
    labelKey: 'payments',
    items: [
      { to: '/payments', labelKey: 'payments', icon: 'payments' },
      { to: '/qr-payments', labelKey: 'qrPayments', icon: 'qr' },
      { to: '/virtual-terminal', labelKey: 'virtualTerminal', icon: 'terminal' },
      { to: '/settlements', labelKey: 'settlements', icon: 'settlements' },
    ],
  },
  {
    labelKey: 'estate',
    items: [
      { to: '/merchants', labelKey: 'merchants', icon: 'merchants' },
      { to: '/stores', labelKey: 'stores', icon: 'store' },
      { to: '/devices', labelKey: 'devices', icon: 'device' },
      { to: '/points-of-sale', labelKey: 'pointsOfSale', icon: 'till' },
      { to: '/acquirers', labelKey: 'acquirers', icon: 'link' },
      { to: '/imports', labelKey: 'imports', icon: 'imports' },
    ],
  },
  {
    labelKey: 'services',
    items: [
      { to: '/services', labelKey: 'services', icon: 'services' },
      { to: '/own-services', labelKey: 'ownServices', icon: 'services' },
      { to: '/own-payments', labelKey: 'ownPayments', icon: 'payments' },
    ],
  },
  {
    labelKey: 'reports',
    items: [
      { to: '/exports', labelKey: 'exports', icon: 'exports' },
      { to: '/reconciliations', labelKey: 'reconciliations', icon: 'columns' },
    ],
  },
  {
    labelKey: 'administration',
    items: [
      { to: '/users', labelKey: 'users', icon: 'users' },
      { to: '/sign-ups', labelKey: 'signUps', icon: 'mail' },
      { to: '/claim-conflicts', labelKey: 'claimConflicts', icon: 'device' },
      { to: '/configuration', labelKey: 'configuration', icon: 'configuration' },
      { to: '/health', labelKey: 'health', icon: 'health' },
    ],
  },
  {
    labelKey: 'developers',
    items: [
      { to: '/applications', labelKey: 'applications', icon: 'applications' },
      { to: '/webhooks', labelKey: 'webhooks', icon: 'webhooks' },
      { to: '/events', labelKey: 'events', icon: 'events' },
      { to: '/console', labelKey: 'console', icon: 'book' },
      { to: '/test-cards', labelKey: 'testCards', icon: 'payments' },
      { to: '/logs', labelKey: 'logs', icon: 'logs' },
      { to: '/audit', labelKey: 'audit', icon: 'audit' },
    ],
  },
];

/** The sections and items that this user may open. */
export function navigationFor(
  screens: readonly Screen[],
  visitor: PortalUser,
  entry: PortalName,
): NavigationSection[] {
  const paths = new Set(
    screens.filter((screen) => isAccessibleTo(screen, visitor, entry)).map(({ path }) => path),
  );
  return navigation
    .map(({ labelKey, items }) => ({ labelKey, items: items.filter(({ to }) => paths.has(to)) }))
    .filter(({ items }) => items.length > 0);
}
