// HTTP routes for provisioned entities, version 2.
import {
  AcquirerContract,
  AcquirerContractInput,
  AcquirerContractReplacement,
  AcquirerLink,
  AcquirerLinkInput,
  AcquirerLinkReplacement,
  defined,
  type ErrorCode,
  provisioningFilters as filters,
  LogicalDevice,
  LogicalDeviceInput,
  LogicalDeviceReplacement,
  Merchant,
  MerchantInput,
  MerchantReplacement,
  NewPointOfSale,
  Organization,
  OrganizationInput,
  OrganizationReplacement,
  PhysicalDevice,
  PhysicalDeviceInput,
  PhysicalDeviceLinks,
  PhysicalDeviceReplacement,
  PointOfSale,
  PointOfSaleInput,
  PointOfSaleReplacement,
  pointOfSaleFilters,
  RenewedSecret,
  Store,
  StoreInput,
  StoreReplacement,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type TObject, type TProperties, Type } from 'typebox';
import {
  type AuthenticatedRequest,
  readIfMatch,
  registerResourceRoutes,
  route,
  sendWithETag,
} from '../http/index.ts';
import type { LogicalDevices } from './devices/logical-devices.ts';
import type { PointsOfSale } from './devices/points-of-sale.ts';
import {
  type CallerScope,
  requireOrganizationCaller,
  toCallerScope,
} from './resources/caller-scope.ts';
import { type NotFoundCode, throwNotFound } from './resources/provisioning-errors.ts';
import type { ResourceInput } from './resources/resource-definition.ts';
import type { ResourceOperations } from './resources/resource-operations.ts';

const base = '/provisioning/v2';
const tags = ['Provisioning'] as const;

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

type EntityRoutes<View> = {
  /** With Fastify placeholders, such as `/provisioning/v2/stores`. */
  readonly path: string;
  readonly idMember: string;
  /** The name in operation ids, such as `Store` and `Stores`. */
  readonly singular: string;
  readonly plural: string;
  readonly notFoundCode: NotFoundCode;
  readonly input: TObject;
  readonly replacement: TObject;
  readonly view: TObject;
  /** The response to a creation, if it contains values that are shown only once. */
  readonly created?: TObject;
  readonly filters: TProperties;
  readonly resource: Omit<ResourceOperations<View>, 'createIfNew'>;
  /** The operations that require a caller of the organisation itself. */
  readonly organizationOnly?: readonly ('create' | 'update' | 'delete' | 'read')[];
  readonly createErrors?: readonly ErrorCode[];
  /** The merchants, if the path names the merchant of the entity. */
  readonly merchants?: ResourceOperations<Merchant>;
};

/** Every provisioned entity has the same five routes. */
function registerEntityRoutes<View extends object>(
  app: FastifyInstance,
  entity: EntityRoutes<View>,
): void {
  const { path, idMember, resource, merchants, organizationOnly = [], createErrors = [] } = entity;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const identifier = () => Type.String({ maxLength: 64, description: 'An identifier.' });
  registerResourceRoutes(app, {
    path,
    singular: entity.singular,
    plural: entity.plural,
    tags,
    readPermission: 'prov.read',
    writePermission: 'prov.write',
    identifiers: Object.fromEntries([...names, idMember].map((name) => [name, identifier()])),
    view: entity.view,
    notFoundCode: entity.notFoundCode,
    scopeErrors: merchants === undefined ? [] : ['merchant_not_found'],
    async scope(request, operation) {
      const { caller, id } = request;
      if (organizationOnly.includes(operation)) {
        requireOrganizationCaller(caller, `may ${operation} this`);
      }
      return merchants === undefined
        ? toCallerScope(caller, id)
        : resolveMerchantScope(merchants, request);
    },
    list: {
      description: 'Sorted by creation time. Pages stay consistent while entities are added.',
      filters: entity.filters,
      run: resource.list,
    },
    get: { run: resource.get },
    create: {
      body: entity.input,
      ...defined({ view: entity.created }),
      errors: createErrors,
      run: resource.create,
    },
    update: {
      description:
        'Replaces the whole entity: omitted fields get their defaults. Send the ETag as If-Match to detect concurrent changes.',
      body: entity.replacement,
      errors: createErrors,
      run: resource.replace,
    },
    delete: {
      description:
        'Answers 409 has_dependants while other entities depend on it. Earlier payments still refer to a deleted entity.',
      errors: ['has_dependants'],
      run: resource.remove,
    },
  });
}

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
  registerEntityRoutes(app, {
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
    organizationOnly: ['create', 'update', 'delete'],
    createErrors: ['already_exists'],
  });
  registerEntityRoutes(app, {
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
    organizationOnly: ['create', 'delete'],
  });
  registerEntityRoutes(app, {
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
  registerEntityRoutes(app, {
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
  registerEntityRoutes(app, {
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
    tags,
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

function registerPointOfSaleRoutes(app: FastifyInstance, pointsOfSale: PointsOfSale): void {
  const path = `${base}/points-of-sale`;
  registerEntityRoutes(app, {
    path,
    idMember: 'pointOfSaleId',
    singular: 'PointOfSale',
    plural: 'PointsOfSale',
    notFoundCode: 'resource_not_found',
    input: PointOfSaleInput,
    replacement: PointOfSaleReplacement,
    view: PointOfSale,
    created: NewPointOfSale,
    filters: pointOfSaleFilters,
    resource: pointsOfSale,
    createErrors: ['store_not_found'],
  });
  route(app, {
    method: 'POST',
    url: `${path}/:pointOfSaleId/secret`,
    operationId: 'rotatePointOfSaleSecret',
    summary: 'Rotate the secret of a point of sale',
    description: 'The old secret stops working at once. Access tokens that were issued stay valid.',
    tags,
    permission: 'prov.write',
    takesIdempotencyKey: true,
    params: Type.Object({ pointOfSaleId: Type.String({ maxLength: 64 }) }),
    response: { 200: RenewedSecret },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const scope = toCallerScope(request.caller, request.id);
      const { pointOfSaleId } = request.params;
      const ifMatch = readIfMatch(request.headers);
      const renewed = await pointsOfSale.rotateSecret(scope, pointOfSaleId, ifMatch);
      reply.header('cache-control', 'no-store');
      return sendWithETag(reply, renewed);
    },
  });
}

function registerAcquirerRoutes(app: FastifyInstance, resources: ProvisioningResources): void {
  registerEntityRoutes(app, {
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
    organizationOnly: ['read', 'create', 'update', 'delete'],
    createErrors: ['already_exists'],
  });
  registerEntityRoutes(app, {
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
    organizationOnly: ['create', 'update', 'delete'],
    createErrors: ['merchant_not_found', 'currency_unknown'],
    merchants: resources.merchants,
  });
}

/** The scope of the merchant in the path, after a check that the caller can see it. */
async function resolveMerchantScope(
  merchants: ResourceOperations<Merchant>,
  { caller, params, id }: AuthenticatedRequest,
): Promise<CallerScope> {
  const scope = toCallerScope(caller, id);
  const merchantId = String((params as ResourceInput)['merchantId']);
  if (scope.merchantId !== undefined && scope.merchantId !== merchantId) {
    throwNotFound('merchant_not_found');
  }
  await merchants.get(scope, merchantId);
  return { ...scope, merchantId };
}
