/** The screens of the estate: merchants, stores, places, devices, points of sale, imports and acquirers. */
import type { Entry } from '../../app/current-portal.ts';
import type { Screen } from '../../app/screen.ts';

const portal: readonly Entry[] = ['portal'];

export const estateScreens: readonly Screen[] = [
  {
    path: '/merchants',
    load: () => import('../merchants/list.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/merchants/new',
    load: () => import('../merchants/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/merchants/$merchantId',
    load: () => import('../merchants/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/merchants/$merchantId/edit',
    load: () => import('../merchants/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/merchants/$merchantId/contracts/new',
    load: () => import('../acquirers/contract-new.tsx'),
    needs: ['prov.write'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/merchants/$merchantId/contracts/$contractId',
    load: () => import('../acquirers/contract-detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/merchants/$merchantId/contracts/$contractId/edit',
    load: () => import('../acquirers/contract-edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/stores',
    load: () => import('../stores/list.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/stores/new',
    load: () => import('../stores/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/stores/$storeId',
    load: () => import('../stores/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/stores/$storeId/edit',
    load: () => import('../stores/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/places/new',
    load: () => import('../logical-devices/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/places/$logicalDeviceId',
    load: () => import('../logical-devices/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/places/$logicalDeviceId/edit',
    load: () => import('../logical-devices/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/devices',
    load: () => import('../devices/list.tsx'),
    needs: ['dev.read', 'prov.read'],
    entries: portal,
  },
  {
    path: '/devices/new',
    load: () => import('../devices/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/devices/$physicalDeviceId',
    load: () => import('../devices/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/devices/$physicalDeviceId/edit',
    load: () => import('../devices/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/points-of-sale',
    load: () => import('../points-of-sale/list.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/points-of-sale/new',
    load: () => import('../points-of-sale/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/points-of-sale/$pointOfSaleId',
    load: () => import('../points-of-sale/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
  },
  {
    path: '/points-of-sale/$pointOfSaleId/edit',
    load: () => import('../points-of-sale/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/imports',
    load: () => import('../imports/list.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/imports/new',
    load: () => import('../imports/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/imports/$bulkId',
    load: () => import('../imports/detail.tsx'),
    needs: ['prov.write'],
    entries: portal,
  },
  {
    path: '/acquirers',
    load: () => import('../acquirers/list.tsx'),
    needs: ['prov.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/acquirers/new',
    load: () => import('../acquirers/new.tsx'),
    needs: ['prov.write'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/acquirers/$acquirerLinkId',
    load: () => import('../acquirers/detail.tsx'),
    needs: ['prov.read'],
    entries: portal,
    isOfOrganization: true,
  },
  {
    path: '/acquirers/$acquirerLinkId/edit',
    load: () => import('../acquirers/edit.tsx'),
    needs: ['prov.write'],
    entries: portal,
    isOfOrganization: true,
  },
];
