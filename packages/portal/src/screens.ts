/** The screens by access: which users may open them, their paths, and the files to load. */
import type { PortalName } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import type { ScreenAccess } from './app/screen-access.ts';
import { editEntity, newEntity } from './screens/estate/entity-screens.ts';

const bothPortals: readonly PortalName[] = ['portal', 'provider-portal'];
const portals: readonly PortalName[] = ['portal'];
const providerPortal: readonly PortalName[] = ['provider-portal'];
const isOrganizationOnly = true;

const screensFor = (
  access: ScreenAccess,
  files: Readonly<Record<string, Screen['load']>>,
): readonly Screen[] => Object.entries(files).map(([path, load]) => ({ ...access, path, load }));

export const screens: readonly Screen[] = [
  screensFor(
    { requiresOneOf: [], portals: bothPortals },
    { '/': () => import('./screens/home/home.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['rep.read'], portals },
    {
      '/payments': () => import('./screens/payments/list.tsx'),
      '/analytics': () => import('./screens/analytics/analytics.tsx'),
      '/settlements': () => import('./screens/settlements/list.tsx'),
      '/settlements/$settlementId': () => import('./screens/settlements/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['rep.read'], portals, isOrganizationOnly },
    {
      '/reconciliations': () => import('./screens/reconciliations/list.tsx'),
      '/reconciliations/$reconciliationId': () => import('./screens/reconciliations/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['rep.read', 'pay.read'], portals },
    { '/payments/$transactionId': () => import('./screens/payments/detail.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['rep.export'], portals },
    { '/exports': () => import('./screens/exports/list.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['pay.read'], portals },
    { '/qr-payments': () => import('./screens/qr-payments/list.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['pay.sale'], portals, environments: ['demo'] },
    { '/virtual-terminal': () => import('./screens/virtual-terminal/virtual-terminal.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['prov.read'], portals },
    {
      '/merchants': () => import('./screens/merchants/list.tsx'),
      '/merchants/$merchantId': () => import('./screens/merchants/detail.tsx'),
      '/merchants/$merchantId/contracts/$contractId': () =>
        import('./screens/acquirers/contract-detail.tsx'),
      '/stores': () => import('./screens/stores/list.tsx'),
      '/stores/$storeId': () => import('./screens/stores/detail.tsx'),
      '/logical-devices/$logicalDeviceId': () => import('./screens/logical-devices/detail.tsx'),
      '/devices/$physicalDeviceId': () => import('./screens/devices/detail.tsx'),
      '/points-of-sale': () => import('./screens/points-of-sale/list.tsx'),
      '/points-of-sale/$pointOfSaleId': () => import('./screens/points-of-sale/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['dev.read', 'prov.read'], portals },
    { '/devices': () => import('./screens/devices/list.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['prov.read'], portals, isOrganizationOnly },
    {
      '/acquirers': () => import('./screens/acquirers/list.tsx'),
      '/acquirers/$acquirerLinkId': () => import('./screens/acquirers/link-detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['prov.write'], portals },
    {
      '/merchants/$merchantId/edit': editEntity('merchant'),
      '/stores/new': newEntity('store'),
      '/stores/$storeId/edit': editEntity('store'),
      '/logical-devices/new': newEntity('place'),
      '/logical-devices/$logicalDeviceId/edit': editEntity('place'),
      '/devices/new': newEntity('device'),
      '/devices/$physicalDeviceId/edit': editEntity('device'),
      '/points-of-sale/new': newEntity('pointOfSale'),
      '/points-of-sale/$pointOfSaleId/edit': editEntity('pointOfSale'),
      '/imports': () => import('./screens/imports/list.tsx'),
      '/imports/new': () => import('./screens/imports/new.tsx'),
      '/imports/$bulkId': () => import('./screens/imports/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['prov.write'], portals, isOrganizationOnly },
    {
      '/merchants/new': newEntity('merchant'),
      '/merchants/$merchantId/contracts/new': newEntity('contract'),
      '/merchants/$merchantId/contracts/$contractId/edit': editEntity('contract'),
      '/acquirers/new': newEntity('link'),
      '/acquirers/$acquirerLinkId/edit': editEntity('link'),
    },
  ),
  screensFor(
    { requiresOneOf: ['sub.read', 'conf.read'], portals },
    {
      '/services': () => import('./screens/services/list.tsx'),
      '/services/$serviceId': () => import('./screens/services/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['sub.read'], portals, isOrganizationOnly },
    { '/service-packages': () => import('./screens/services/packages.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['svc.read'], portals: providerPortal },
    {
      '/own-services': () => import('./screens/provider-services/list.tsx'),
      '/own-services/$serviceId': () => import('./screens/provider-services/detail.tsx'),
      '/own-payments': () => import('./screens/provider-services/payments.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['svc.write'], portals: providerPortal },
    {
      '/own-services/new': () => import('./screens/provider-services/new.tsx'),
      '/own-services/$serviceId/edit': () => import('./screens/provider-services/edit.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['onb.approve'], portals, isOrganizationOnly, isOperatorOnly: true },
    {
      '/sign-ups': () => import('./screens/sign-ups/list.tsx'),
      '/claim-conflicts': () => import('./screens/claim-conflicts/list.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['um.read'], portals: bothPortals },
    {
      '/users': () => import('./screens/users/list.tsx'),
      '/users/$userId': () => import('./screens/users/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['audit.read'], portals, isOrganizationOnly },
    { '/health': () => import('./screens/health/health.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['audit.read'], portals: bothPortals },
    {
      '/audit': () => import('./screens/audit/list.tsx'),
      '/audit/$sequence': () => import('./screens/audit/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['conf.read'], portals },
    { '/configuration': () => import('./screens/configuration/configuration.tsx') },
  ),
  screensFor(
    { requiresOneOf: ['app.read', 'um.write'], portals: bothPortals },
    {
      '/applications': () => import('./screens/applications/list.tsx'),
      '/applications/$clientId': () => import('./screens/applications/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['app.write'], portals: bothPortals },
    {
      '/applications/new': () => import('./screens/applications/new.tsx'),
      '/applications/$clientId/edit': () => import('./screens/applications/edit.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['hook.read'], portals: bothPortals },
    {
      '/webhooks': () => import('./screens/webhooks/list.tsx'),
      '/webhooks/deliveries': () => import('./screens/webhooks/deliveries.tsx'),
      '/webhooks/deliveries/$deliveryId': () => import('./screens/webhooks/delivery.tsx'),
      '/webhooks/$endpointId': () => import('./screens/webhooks/detail.tsx'),
      '/events': () => import('./screens/events/list.tsx'),
      '/events/$position': () => import('./screens/events/detail.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['app.read', 'hook.read', 'svc.read'], portals: bothPortals },
    {
      '/console': () => import('./screens/api-console/api-reference.tsx'),
      '/console/events': () => import('./screens/api-console/event-types.tsx'),
      '/console/errors': () => import('./screens/api-console/error-codes.tsx'),
    },
  ),
  screensFor(
    { requiresOneOf: ['app.read', 'hook.read'], portals: bothPortals },
    { '/logs': () => import('./screens/logs/list.tsx') },
  ),
  screensFor(
    { requiresOneOf: [], portals: bothPortals, environments: ['demo'] },
    { '/test-cards': () => import('./screens/test-cards/test-cards.tsx') },
  ),
].flat();
