/** The screens: path, the users that may open it, and the file to load. */
import type { PortalName } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import { estateScreens } from './screens/estate/estate-screens.ts';

const bothPortals: readonly PortalName[] = ['portal', 'provider-portal'];
const portal: readonly PortalName[] = ['portal'];
const provider: readonly PortalName[] = ['provider-portal'];
/** Permissions of users that develop or monitor API clients. */
const readsApi = ['app.read', 'hook.read', 'svc.read'] as const;

export const screens: readonly Screen[] = [
  {
    path: '/',
    load: () => import('./screens/home/home.tsx'),
    requiresOneOf: [],
    portals: bothPortals,
  },
  {
    path: '/payments',
    load: () => import('./screens/payments/list.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
  },
  {
    path: '/payments/$transactionId',
    load: () => import('./screens/payments/detail.tsx'),
    requiresOneOf: ['rep.read', 'pay.read'],
    portals: portal,
  },
  {
    path: '/analytics',
    load: () => import('./screens/analytics/analytics.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
  },
  {
    path: '/settlements',
    load: () => import('./screens/settlements/list.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
  },
  {
    path: '/settlements/$settlementId',
    load: () => import('./screens/settlements/detail.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
  },
  {
    path: '/virtual-terminal',
    load: () => import('./screens/virtual-terminal/virtual-terminal.tsx'),
    requiresOneOf: ['pay.sale'],
    portals: portal,
    environments: ['demo'],
  },
  {
    path: '/qr-payments',
    load: () => import('./screens/qr-payments/list.tsx'),
    requiresOneOf: ['pay.read'],
    portals: portal,
  },
  ...estateScreens,
  {
    path: '/exports',
    load: () => import('./screens/exports/list.tsx'),
    requiresOneOf: ['rep.export'],
    portals: portal,
  },
  {
    path: '/reconciliations',
    load: () => import('./screens/reconciliations/list.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/reconciliations/$reconciliationId',
    load: () => import('./screens/reconciliations/detail.tsx'),
    requiresOneOf: ['rep.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/services',
    load: () => import('./screens/services/list.tsx'),
    requiresOneOf: ['sub.read', 'conf.read'],
    portals: portal,
  },
  {
    path: '/services/$serviceId',
    load: () => import('./screens/services/detail.tsx'),
    requiresOneOf: ['sub.read', 'conf.read'],
    portals: portal,
  },
  {
    path: '/service-packages',
    load: () => import('./screens/services/packages.tsx'),
    requiresOneOf: ['sub.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/own-services',
    load: () => import('./screens/provider-services/list.tsx'),
    requiresOneOf: ['svc.read'],
    portals: provider,
  },
  {
    path: '/own-services/new',
    load: () => import('./screens/provider-services/new.tsx'),
    requiresOneOf: ['svc.write'],
    portals: provider,
  },
  {
    path: '/own-services/$serviceId',
    load: () => import('./screens/provider-services/detail.tsx'),
    requiresOneOf: ['svc.read'],
    portals: provider,
  },
  {
    path: '/own-services/$serviceId/edit',
    load: () => import('./screens/provider-services/edit.tsx'),
    requiresOneOf: ['svc.write'],
    portals: provider,
  },
  {
    path: '/own-payments',
    load: () => import('./screens/provider-services/payments.tsx'),
    requiresOneOf: ['svc.read'],
    portals: provider,
  },
  {
    path: '/sign-ups',
    load: () => import('./screens/sign-ups/list.tsx'),
    requiresOneOf: ['onb.approve'],
    portals: portal,
    isOrganizationOnly: true,
    isOperatorOnly: true,
  },
  {
    path: '/claim-conflicts',
    load: () => import('./screens/claim-conflicts/list.tsx'),
    requiresOneOf: ['onb.approve'],
    portals: portal,
    isOrganizationOnly: true,
    isOperatorOnly: true,
  },
  {
    path: '/users',
    load: () => import('./screens/users/list.tsx'),
    requiresOneOf: ['um.read'],
    portals: bothPortals,
  },
  {
    path: '/users/$userId',
    load: () => import('./screens/users/detail.tsx'),
    requiresOneOf: ['um.read'],
    portals: bothPortals,
  },
  {
    path: '/health',
    load: () => import('./screens/health/health.tsx'),
    requiresOneOf: ['audit.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/applications',
    load: () => import('./screens/applications/list.tsx'),
    requiresOneOf: ['app.read', 'um.write'],
    portals: bothPortals,
  },
  {
    path: '/applications/new',
    load: () => import('./screens/applications/new.tsx'),
    requiresOneOf: ['app.write'],
    portals: bothPortals,
  },
  {
    path: '/applications/$clientId',
    load: () => import('./screens/applications/detail.tsx'),
    requiresOneOf: ['app.read', 'um.write'],
    portals: bothPortals,
  },
  {
    path: '/applications/$clientId/edit',
    load: () => import('./screens/applications/edit.tsx'),
    requiresOneOf: ['app.write'],
    portals: bothPortals,
  },
  {
    path: '/webhooks',
    load: () => import('./screens/webhooks/list.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/webhooks/deliveries',
    load: () => import('./screens/webhooks/deliveries.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/webhooks/deliveries/$deliveryId',
    load: () => import('./screens/webhooks/delivery.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/webhooks/$endpointId',
    load: () => import('./screens/webhooks/detail.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/events',
    load: () => import('./screens/events/list.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/events/$position',
    load: () => import('./screens/events/detail.tsx'),
    requiresOneOf: ['hook.read'],
    portals: bothPortals,
  },
  {
    path: '/console',
    load: () => import('./screens/api-console/operation-list.tsx'),
    requiresOneOf: readsApi,
    portals: bothPortals,
  },
  {
    path: '/console/operations/$operationId',
    load: () => import('./screens/api-console/operation-detail.tsx'),
    requiresOneOf: readsApi,
    portals: bothPortals,
  },
  {
    path: '/console/events',
    load: () => import('./screens/api-console/event-types.tsx'),
    requiresOneOf: readsApi,
    portals: bothPortals,
  },
  {
    path: '/console/errors',
    load: () => import('./screens/api-console/error-codes.tsx'),
    requiresOneOf: readsApi,
    portals: bothPortals,
  },
  {
    path: '/test-cards',
    load: () => import('./screens/test-cards/test-cards.tsx'),
    requiresOneOf: [],
    portals: bothPortals,
    environments: ['demo'],
  },
  {
    path: '/configuration',
    load: () => import('./screens/configuration/configuration.tsx'),
    requiresOneOf: ['conf.read'],
    portals: portal,
  },
  {
    path: '/logs',
    load: () => import('./screens/logs/list.tsx'),
    requiresOneOf: ['app.read', 'hook.read'],
    portals: bothPortals,
  },
  {
    path: '/audit',
    load: () => import('./screens/audit/list.tsx'),
    requiresOneOf: ['audit.read'],
    portals: bothPortals,
  },
  {
    path: '/audit/$sequence',
    load: () => import('./screens/audit/detail.tsx'),
    requiresOneOf: ['audit.read'],
    portals: bothPortals,
  },
];
