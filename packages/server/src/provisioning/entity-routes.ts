// HTTP routes for provisioning, version 2.
import {
  AcquirerContract,
  AcquirerContractInput,
  AcquirerContractReplacement,
  AcquirerLink,
  AcquirerLinkInput,
  AcquirerLinkReplacement,
  provisioningFilters as filters,
  LogicalDevice,
  LogicalDeviceInput,
  LogicalDeviceReplacement,
  Merchant,
  MerchantInput,
  MerchantReplacement,
  Organization,
  OrganizationInput,
  OrganizationReplacement,
  PhysicalDevice,
  PhysicalDeviceInput,
  PhysicalDeviceLinks,
  PhysicalDeviceReplacement,
  Store,
  StoreInput,
  StoreReplacement,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { readIfMatch, route } from '../http/index.ts';
import type { LogicalDevices } from './devices/logical-devices.ts';
import type { PointsOfSale } from './devices/points-of-sale.ts';
import { registerPointsOfSale } from './devices/points-of-sale-routes.ts';
import { type Scope, scopeOf } from './resources/caller-scope.ts';
import { refuseUnknown } from './resources/provisioning-errors.ts';
import type { Input } from './resources/resource-definition.ts';
import type { Resource } from './resources/resource-operations.ts';
import { type Asked, registerResource, sendVersioned } from './resources/resource-routes.ts';

const base = '/provisioning/v2';

export type Resources = {
  readonly organizations: Resource<Organization>;
  readonly merchants: Resource<Merchant>;
  readonly stores: Resource<Store>;
  readonly logicalDevices: LogicalDevices;
  readonly physicalDevices: Resource<PhysicalDevice>;
  readonly pointsOfSale: PointsOfSale;
  readonly acquirerLinks: Resource<AcquirerLink>;
  readonly acquirerContracts: Resource<AcquirerContract>;
};

export function registerProvisioningRoutes(app: FastifyInstance, resources: Resources): void {
  registerMerchants(app, resources);
  registerDevices(app, resources);
  registerLinks(app, resources.logicalDevices);
  registerPointsOfSale(app, resources.pointsOfSale);
  registerAcquirers(app, resources);
}

function registerMerchants(app: FastifyInstance, { organizations, merchants, stores }: Resources) {
  registerResource(app, {
    path: `${base}/organizations`,
    idMember: 'organizationId',
    singular: 'Organization',
    plural: 'Organizations',
    notFound: 'organization_not_found',
    input: OrganizationInput,
    replacement: OrganizationReplacement,
    view: Organization,
    filters: filters.organizations,
    resource: organizations,
    organizationOnly: ['create', 'replace', 'remove'],
    createErrors: ['already_exists'],
  });
  registerResource(app, {
    path: `${base}/merchants`,
    idMember: 'merchantId',
    singular: 'Merchant',
    plural: 'Merchants',
    notFound: 'merchant_not_found',
    input: MerchantInput,
    replacement: MerchantReplacement,
    view: Merchant,
    filters: filters.merchants,
    resource: merchants,
    organizationOnly: ['create', 'remove'],
  });
  registerResource(app, {
    path: `${base}/stores`,
    idMember: 'storeId',
    singular: 'Store',
    plural: 'Stores',
    notFound: 'store_not_found',
    input: StoreInput,
    replacement: StoreReplacement,
    view: Store,
    filters: filters.stores,
    resource: stores,
    createErrors: ['merchant_not_found'],
  });
}

function registerDevices(app: FastifyInstance, resources: Resources): void {
  registerResource(app, {
    path: `${base}/logical-devices`,
    idMember: 'logicalDeviceId',
    singular: 'LogicalDevice',
    plural: 'LogicalDevices',
    notFound: 'device_not_found',
    input: LogicalDeviceInput,
    replacement: LogicalDeviceReplacement,
    view: LogicalDevice,
    filters: filters.logicalDevices,
    resource: resources.logicalDevices,
    createErrors: ['store_not_found'],
  });
  registerResource(app, {
    path: `${base}/physical-devices`,
    idMember: 'physicalDeviceId',
    singular: 'PhysicalDevice',
    plural: 'PhysicalDevices',
    notFound: 'device_not_found',
    input: PhysicalDeviceInput,
    replacement: PhysicalDeviceReplacement,
    view: PhysicalDevice,
    filters: filters.physicalDevices,
    resource: resources.physicalDevices,
    createErrors: ['merchant_not_found', 'already_exists'],
  });
}

function registerLinks(app: FastifyInstance, logicalDevices: LogicalDevices): void {
  route(app, {
    method: 'PUT',
    url: `${base}/logical-devices/:logicalDeviceId/physical-devices`,
    operationId: 'linkPhysicalDevices',
    summary: 'Link physical devices to a logical device',
    description: 'None, one or two physical devices; whatever was linked before is free again.',
    tags: ['Provisioning'],
    permission: 'prov.write',
    params: Type.Object({ logicalDeviceId: Type.String({ maxLength: 64 }) }),
    body: PhysicalDeviceLinks,
    response: { 200: LogicalDevice },
    responseHeaders: { 200: ['ETag'] },
    errors: ['device_not_found', 'entity_mismatch', 'precondition_failed'],
    async handler(request, reply) {
      const { logicalDeviceId } = request.params;
      const { physicalDeviceIds } = request.body;
      const scope = scopeOf(request.caller, request.id);
      const ifMatch = readIfMatch(request.headers);
      const linked = await logicalDevices.link(scope, logicalDeviceId, physicalDeviceIds, ifMatch);
      return sendVersioned(reply, linked);
    },
  });
}

function registerAcquirers(app: FastifyInstance, resources: Resources): void {
  registerResource(app, {
    path: `${base}/acquirer-links`,
    idMember: 'acquirerLinkId',
    singular: 'AcquirerLink',
    plural: 'AcquirerLinks',
    notFound: 'resource_not_found',
    input: AcquirerLinkInput,
    replacement: AcquirerLinkReplacement,
    view: AcquirerLink,
    filters: filters.acquirerLinks,
    resource: resources.acquirerLinks,
    organizationOnly: ['read', 'create', 'replace', 'remove'],
    createErrors: ['already_exists'],
  });
  registerResource(app, {
    path: `${base}/merchants/:merchantId/acquirer-contracts`,
    idMember: 'contractId',
    singular: 'AcquirerContract',
    plural: 'AcquirerContracts',
    notFound: 'resource_not_found',
    input: AcquirerContractInput,
    replacement: AcquirerContractReplacement,
    view: AcquirerContract,
    filters: filters.acquirerContracts,
    resource: resources.acquirerContracts,
    organizationOnly: ['create', 'replace', 'remove'],
    createErrors: ['merchant_not_found', 'currency_unknown'],
    scope: (asked) => merchantScope(resources.merchants, asked),
  });
}

/** The scope of the merchant in the path, after a check that the caller can see it. */
async function merchantScope(
  merchants: Resource<Merchant>,
  { caller, params, id }: Asked,
): Promise<Scope> {
  const scope = scopeOf(caller, id);
  const merchantId = String((params as Input)['merchantId']);
  if (scope.merchantId !== undefined && scope.merchantId !== merchantId) {
    refuseUnknown('merchant_not_found');
  }
  await merchants.get(scope, merchantId);
  return { ...scope, merchantId };
}
