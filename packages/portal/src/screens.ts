/** Every screen: its address, whom it is for, and the file that is fetched when it is opened. */
import type { Entry } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import { estateScreens } from './screens/estate/estate-screens.ts';

const bothPortals: readonly Entry[] = ['portal', 'provider-portal'];
const portal: readonly Entry[] = ['portal'];
const provider: readonly Entry[] = ['provider-portal'];
/** Whoever writes programs against the platform, or watches those that others wrote. */
const readsApi = ['app.read', 'hook.read', 'svc.read'] as const;

export const screens: readonly Screen[] = [
  { path: '/', load: () => import('./screens/home/home.tsx'), needs: [], entries: bothPortals },
  {
    path: '/payments',
    load: () => import('./screens/payments/list.tsx'),
    needs: ['rep.read'],
    entries: portal,
  },
  {
    path: '/payments/$transactionId',
    load: () => import('./screens/payments/detail.tsx'),
    needs: ['rep.read', 'pay.read'],
    entries: portal,
  },
  {
    path: '/analytics',
    load: () => import('./screens/analytics/analytics.tsx'),
    needs: ['rep.read'],
    entries: portal,
  },
  {
    path: '/settlements',
    load: () => import('./screens/settlements/list.tsx'),
    needs: ['rep.read'],
    entries: portal,
  },
  {
    path: '/settlements/$settlementId',
    load: () => import('./screens/settlements/detail.tsx'),
    needs: ['rep.read'],
    entries: portal,
  },
  {
    path: '/virtual-terminal',
    load: () => import('./screens/virtual-terminal/virtual-terminal.tsx'),
    needs: ['pay.sale'],
    entries: portal,
    environments: ['demo'],
  },
  {
    path: '/qr-payments',
    load: () => import('./screens/qr-payments/list.tsx'),
    needs: ['pay.read'],
    entries: portal,
  },
  ...estateScreens,
  {
    path: '/exports',
    load: () => import('./screens/exports/list.tsx'),
    needs: ['rep.export'],
    entries: portal,
  },
  {
    path: '/reconciliations',
    load: () => import('./screens/reconciliations/list.tsx'),
    needs: ['rep.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/reconciliations/$reconciliationId',
    load: () => import('./screens/reconciliations/detail.tsx'),
    needs: ['rep.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/services',
    load: () => import('./screens/services/list.tsx'),
    needs: ['sub.read', 'conf.read'],
    entries: portal,
  },
  {
    path: '/services/$serviceId',
    load: () => import('./screens/services/detail.tsx'),
    needs: ['sub.read', 'conf.read'],
    entries: portal,
  },
  {
    path: '/service-packages',
    load: () => import('./screens/services/packages.tsx'),
    needs: ['sub.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/own-services',
    load: () => import('./screens/provider-services/list.tsx'),
    needs: ['svc.read'],
    entries: provider,
  },
  {
    path: '/own-services/new',
    load: () => import('./screens/provider-services/new.tsx'),
    needs: ['svc.write'],
    entries: provider,
  },
  {
    path: '/own-services/$serviceId',
    load: () => import('./screens/provider-services/detail.tsx'),
    needs: ['svc.read'],
    entries: provider,
  },
  {
    path: '/own-services/$serviceId/edit',
    load: () => import('./screens/provider-services/edit.tsx'),
    needs: ['svc.write'],
    entries: provider,
  },
  {
    path: '/own-payments',
    load: () => import('./screens/provider-services/payments.tsx'),
    needs: ['svc.read'],
    entries: provider,
  },
  {
    path: '/sign-ups',
    load: () => import('./screens/sign-ups/list.tsx'),
    needs: ['onb.approve'],
    entries: portal,
    isOfOrganization: true,
    isOfOperator: true,
  },
  {
    path: '/claim-conflicts',
    load: () => import('./screens/claim-conflicts/list.tsx'),
    needs: ['onb.approve'],
    entries: portal,
    isOfOrganization: true,
    isOfOperator: true,
  },
  {
    path: '/users',
    load: () => import('./screens/users/list.tsx'),
    needs: ['um.read'],
    entries: bothPortals,
  },
  {
    path: '/users/$userId',
    load: () => import('./screens/users/detail.tsx'),
    needs: ['um.read'],
    entries: bothPortals,
  },
  {
    path: '/health',
    load: () => import('./screens/health/health.tsx'),
    needs: ['audit.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/applications',
    load: () => import('./screens/applications/list.tsx'),
    needs: ['app.read', 'um.write'],
    entries: bothPortals,
  },
  {
    path: '/applications/new',
    load: () => import('./screens/applications/new.tsx'),
    needs: ['app.write'],
    entries: bothPortals,
  },
  {
    path: '/applications/$clientId',
    load: () => import('./screens/applications/detail.tsx'),
    needs: ['app.read', 'um.write'],
    entries: bothPortals,
  },
  {
    path: '/applications/$clientId/edit',
    load: () => import('./screens/applications/edit.tsx'),
    needs: ['app.write'],
    entries: bothPortals,
  },
  {
    path: '/webhooks',
    load: () => import('./screens/webhooks/list.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/webhooks/deliveries',
    load: () => import('./screens/webhooks/deliveries.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/webhooks/deliveries/$deliveryId',
    load: () => import('./screens/webhooks/delivery.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/webhooks/$endpointId',
    load: () => import('./screens/webhooks/detail.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/events',
    load: () => import('./screens/events/list.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/events/$position',
    load: () => import('./screens/events/detail.tsx'),
    needs: ['hook.read'],
    entries: bothPortals,
  },
  {
    path: '/console',
    load: () => import('./screens/api-console/operation-list.tsx'),
    needs: readsApi,
    entries: bothPortals,
  },
  {
    path: '/console/operations/$operationId',
    load: () => import('./screens/api-console/operation-detail.tsx'),
    needs: readsApi,
    entries: bothPortals,
  },
  {
    path: '/console/events',
    load: () => import('./screens/api-console/event-types.tsx'),
    needs: readsApi,
    entries: bothPortals,
  },
  {
    path: '/console/errors',
    load: () => import('./screens/api-console/error-codes.tsx'),
    needs: readsApi,
    entries: bothPortals,
  },
  {
    path: '/test-cards',
    load: () => import('./screens/test-cards/test-cards.tsx'),
    needs: [],
    entries: bothPortals,
    environments: ['demo'],
  },
  {
    path: '/configuration',
    load: () => import('./screens/configuration/configuration.tsx'),
    needs: ['conf.read'],
    entries: portal,
  },
  {
    path: '/logs',
    load: () => import('./screens/logs/list.tsx'),
    needs: ['app.read', 'hook.read'],
    entries: bothPortals,
  },
  {
    path: '/audit',
    load: () => import('./screens/audit/list.tsx'),
    needs: ['audit.read'],
    entries: bothPortals,
  },
  {
    path: '/audit/$sequence',
    load: () => import('./screens/audit/detail.tsx'),
    needs: ['audit.read'],
    entries: bothPortals,
  },
];
