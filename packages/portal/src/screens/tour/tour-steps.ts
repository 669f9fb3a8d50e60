/** The steps of the tour; screens without permission are omitted. */
import type { PortalName } from '../../app/current-portal.ts';
import type { Screen } from '../../app/screen.ts';
import { navigationFor } from '../../navigation.ts';
import type { Session } from '../../session/signed-in-user.ts';

export type TourStep = {
  /** A key of `locales/{language}/general/tour.json`. */
  readonly word: string;
  readonly to: string;
};

/** The steps of each portal. */
const order: Readonly<Record<PortalName, readonly TourStep[]>> = {
  portal: [
    { word: 'home', to: '/' },
    { word: 'merchants', to: '/merchants' },
    { word: 'fleet', to: '/devices' },
    { word: 'services', to: '/services' },
    { word: 'virtualTerminal', to: '/virtual-terminal' },
    { word: 'payments', to: '/payments' },
    { word: 'qrPayments', to: '/qr-payments' },
    { word: 'analytics', to: '/analytics' },
    { word: 'users', to: '/users' },
    { word: 'applications', to: '/applications' },
    { word: 'console', to: '/console' },
    { word: 'audit', to: '/audit' },
  ],
  'provider-portal': [
    { word: 'providerHome', to: '/' },
    { word: 'ownServices', to: '/own-services' },
    { word: 'ownPayments', to: '/own-payments' },
    { word: 'webhooks', to: '/webhooks' },
    { word: 'applications', to: '/applications' },
    { word: 'users', to: '/users' },
  ],
};

export function tourStepsFor(
  screens: readonly Screen[],
  session: Pick<Session, 'permissions' | 'environment' | 'merchantId' | 'isOperator'>,
  entry: PortalName,
): readonly TourStep[] {
  const open = navigationFor(screens, session, entry).flatMap(({ items }) =>
    items.map(({ to }) => to),
  );
  return order[entry].filter(({ to }) => open.includes(to));
}
