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
import { registerPointOfSaleRoutes } from './devices/points-of-sale-routes.ts';
import { type CallerScope, toCallerScope } from './resources/caller-scope.ts';
import { throwNotFound } from './resources/provisioning-errors.ts';
import type { ResourceInput } from './resources/resource-definition.ts';
import type { ResourceOperations } from './resources/resource-operations.ts';
import {
  registerResourceRoutes,
  type ScopeRequest,
  sendWithETag,
} from './resources/resource-routes.ts';

const base = '/provisioning/v2';

export type ProvisioningResources = {
  readonly organizations: ResourceOperations<Organization>;
  readonly merchants: ResourceOperations<Merchant>;
  readonly stores: ResourceOperations<Store>;
  readonly logicalDevices: LogicalDevices;
  readonly physicalDevices: ResourceOperations<PhysicalDevice>;
  readonly pointsOfSale: PointsOfSale;
  readonly acquirerLinks: ResourceOperations<AcquirerLink>;
  readonly acquirerContracts: ResourceOperations<AcquirerContract>;
};

export function registerProvisioningRoutes(
  app: FastifyInstance,
  resources: ProvisioningResources,
): void {
  registerOrganizationAndMerchantRoutes(app, resources);
  registerDeviceRoutes(app, resources);
  registerDeviceLinkRoute(app, resources.logicalDevices);
  registerPointOfSaleRoutes(app, resources.pointsOfSale);
  registerAcquirerRoutes(app, resources);
}

function registerOrganizationAndMerchantRoutes(
  app: FastifyInstance,
  { organizations, merchants, stores }: ProvisioningResources,
) {
  registerResourceRoutes(app, {
    path: `${base}/organizations`,
    idMember: 'organizationId',
    singular: 'Organization',
    plural: 'Organizations',
    notFoundCode: 'organization_not_found',
    input: OrganizationInput,
    replacement: OrganizationReplacement,
    view: Organization,
    filters: filters.organizations,
    resource: organizations,
    organizationOnly: ['create', 'replace', 'remove'],
    createErrors: ['already_exists'],
  });
  registerResourceRoutes(app, {
    path: `${base}/merchants`,
    idMember: 'merchantId',
    singular: 'Merchant',
    plural: 'Merchants',
    notFoundCode: 'merchant_not_found',
    input: MerchantInput,
    replacement: MerchantReplacement,
    view: Merchant,
    filters: filters.merchants,
    resource: merchants,
    organizationOnly: ['create', 'remove'],
  });
  registerResourceRoutes(app, {
    path: `${base}/stores`,
    idMember: 'storeId',
    singular: 'Store',
    plural: 'Stores',
    notFoundCode: 'store_not_found',
    input: StoreInput,
    replacement: StoreReplacement,
    view: Store,
    filters: filters.stores,
    resource: stores,
    createErrors: ['merchant_not_found'],
  });
}

function registerDeviceRoutes(app: FastifyInstance, resources: ProvisioningResources): void {
  registerResourceRoutes(app, {
    path: `${base}/logical-devices`,
    idMember: 'logicalDeviceId',
    singular: 'LogicalDevice',
    plural: 'LogicalDevices',
    notFoundCode: 'device_not_found',
    input: LogicalDeviceInput,
    replacement: LogicalDeviceReplacement,
    view: LogicalDevice,
    filters: filters.logicalDevices,
    resource: resources.logicalDevices,
    createErrors: ['store_not_found'],
  });
  registerResourceRoutes(app, {
    path: `${base}/physical-devices`,
    idMember: 'physicalDeviceId',
    singular: 'PhysicalDevice',
    plural: 'PhysicalDevices',
    notFoundCode: 'device_not_found',
    input: PhysicalDeviceInput,
    replacement: PhysicalDeviceReplacement,
    view: PhysicalDevice,
    filters: filters.physicalDevices,
    resource: resources.physicalDevices,
    createErrors: ['merchant_not_found', 'already_exists'],
  });
}

function registerDeviceLinkRoute(app: FastifyInstance, logicalDevices: LogicalDevices): void {
  route(app, {
    method: 'PUT',
    url: `${base}/logical-devices/:logicalDeviceId/physical-devices`,
    operationId: 'linkPhysicalDevices',
    summary: 'Link physical devices to a logical device',
    description:
      'Replaces the physical devices of a logical device: zero, one or two. A device that is not listed is no longer linked.',
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
      const scope = toCallerScope(request.caller, request.id);
      const ifMatch = readIfMatch(request.headers);
      const linked = await logicalDevices.linkPhysicalDevices(
        scope,
        logicalDeviceId,
        physicalDeviceIds,
        ifMatch,
      );
      return sendWithETag(reply, linked);
    },
  });
}

function registerAcquirerRoutes(app: FastifyInstance, resources: ProvisioningResources): void {
  registerResourceRoutes(app, {
    path: `${base}/acquirer-links`,
    idMember: 'acquirerLinkId',
    singular: 'AcquirerLink',
    plural: 'AcquirerLinks',
    notFoundCode: 'resource_not_found',
    input: AcquirerLinkInput,
    replacement: AcquirerLinkReplacement,
    view: AcquirerLink,
    filters: filters.acquirerLinks,
    resource: resources.acquirerLinks,
    organizationOnly: ['read', 'create', 'replace', 'remove'],
    createErrors: ['already_exists'],
  });
  registerResourceRoutes(app, {
    path: `${base}/merchants/:merchantId/acquirer-contracts`,
    idMember: 'contractId',
    singular: 'AcquirerContract',
    plural: 'AcquirerContracts',
    notFoundCode: 'resource_not_found',
    input: AcquirerContractInput,
    replacement: AcquirerContractReplacement,
    view: AcquirerContract,
    filters: filters.acquirerContracts,
    resource: resources.acquirerContracts,
    organizationOnly: ['create', 'replace', 'remove'],
    createErrors: ['merchant_not_found', 'currency_unknown'],
    scope: (request) => resolveMerchantScope(resources.merchants, request),
  });
}

/** The scope of the merchant in the path, after a check that the caller can see it. */
async function resolveMerchantScope(
  merchants: ResourceOperations<Merchant>,
  { caller, params, id }: ScopeRequest,
): Promise<CallerScope> {
  const scope = toCallerScope(caller, id);
  const merchantId = String((params as ResourceInput)['merchantId']);
  if (scope.merchantId !== undefined && scope.merchantId !== merchantId) {
    throwNotFound('merchant_not_found');
  }
  await merchants.get(scope, merchantId);
  return { ...scope, merchantId };
}
