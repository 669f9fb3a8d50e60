/**
 * The screens for merchants, stores, logical devices, devices, points of sale, imports and
 * acquirers.
 */
import type { PortalName } from '../../app/current-portal.ts';
import type { Screen } from '../../app/screen.ts';

const portal: readonly PortalName[] = ['portal'];

export const estateScreens: readonly Screen[] = [
  {
    path: '/merchants',
    load: () => import('../merchants/list.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/merchants/new',
    load: () => import('../merchants/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/merchants/$merchantId',
    load: () => import('../merchants/detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/merchants/$merchantId/edit',
    load: () => import('../merchants/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/merchants/$merchantId/contracts/new',
    load: () => import('../acquirers/contract-new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/merchants/$merchantId/contracts/$contractId',
    load: () => import('../acquirers/contract-detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/merchants/$merchantId/contracts/$contractId/edit',
    load: () => import('../acquirers/contract-edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/stores',
    load: () => import('../stores/list.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/stores/new',
    load: () => import('../stores/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/stores/$storeId',
    load: () => import('../stores/detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/stores/$storeId/edit',
    load: () => import('../stores/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/places/new',
    load: () => import('../logical-devices/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/places/$logicalDeviceId',
    load: () => import('../logical-devices/detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/places/$logicalDeviceId/edit',
    load: () => import('../logical-devices/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/devices',
    load: () => import('../devices/list.tsx'),
    requiresOneOf: ['dev.read', 'prov.read'],
    portals: portal,
  },
  {
    path: '/devices/new',
    load: () => import('../devices/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/devices/$physicalDeviceId',
    load: () => import('../devices/detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/devices/$physicalDeviceId/edit',
    load: () => import('../devices/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/points-of-sale',
    load: () => import('../points-of-sale/list.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/points-of-sale/new',
    load: () => import('../points-of-sale/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/points-of-sale/$pointOfSaleId',
    load: () => import('../points-of-sale/detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
  },
  {
    path: '/points-of-sale/$pointOfSaleId/edit',
    load: () => import('../points-of-sale/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/imports',
    load: () => import('../imports/list.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/imports/new',
    load: () => import('../imports/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/imports/$bulkId',
    load: () => import('../imports/detail.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
  },
  {
    path: '/acquirers',
    load: () => import('../acquirers/list.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/acquirers/new',
    load: () => import('../acquirers/new.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/acquirers/$acquirerLinkId',
    load: () => import('../acquirers/link-detail.tsx'),
    requiresOneOf: ['prov.read'],
    portals: portal,
    isOrganizationOnly: true,
  },
  {
    path: '/acquirers/$acquirerLinkId/edit',
    load: () => import('../acquirers/edit.tsx'),
    requiresOneOf: ['prov.write'],
    portals: portal,
    isOrganizationOnly: true,
  },
];
