// HTTP routes for activations, for the answers of providers, and for the state of services.
import {
  AnsweredActivation,
  activationFilters,
  Deactivation,
  DeviceServiceList,
  ProviderActivationAnswer,
  ServiceActivation,
  ServiceActivationInput,
  ServiceStateList,
  serviceStateFilters,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  pageQuery,
  pageResponse,
  readPageRequest,
  registerResourceRoutes,
  route,
} from '../../http/index.ts';
import { readCallerScope, readScopeAndAuthor } from '../infrastructure/caller-scope.ts';
import type { Activations } from './activations.ts';
import type { ActiveServices } from './active-services.ts';
import type { ListServiceStates } from './list-entities-with-service-state.ts';

const base = '/service-catalog/v1';
const tags = ['Service catalogue'] as const;
const readPermissions = ['sub.read', 'conf.read'] as const;
const writePermissions = ['sub.write', 'conf.write'] as const;
const identifierSchema = (description: string) => Type.String({ maxLength: 64, description });
const targetErrors = [
  'organization_not_found',
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
  'service_not_found',
] as const;

export function registerActivationRoutes(
  app: FastifyInstance,
  activations: Activations,
  activeServices: ActiveServices,
): void {
  registerReadsAndActivation(app, activations);
  registerDeviceServices(app, activeServices);
  registerDeactivation(app, activations);
  registerAnswer(app, activations);
}

function registerReadsAndActivation(app: FastifyInstance, activations: Activations): void {
  registerResourceRoutes(app, {
    path: `${base}/activations`,
    singular: 'ServiceActivation',
    plural: 'ServiceActivations',
    tags,
    readPermission: readPermissions,
    writePermission: writePermissions,
    identifiers: { activationId: identifierSchema('The activation.') },
    view: ServiceActivation,
    notFoundCode: 'resource_not_found',
    scope: readScopeAndAuthor,
    list: {
      description:
        'Entities that an administrator activated or deactivated. An entity that inherits its state ' +
        'from a level above has no entry.',
      filters: activationFilters,
      run: activations.list,
    },
    get: { run: async (scope, id) => ({ view: await activations.get(scope, id) }) },
    create: {
      description:
        'A service with a provider URL is `Requested` until the provider answers; any other service ' +
        'is `Active` at once. A device can use the service when every level above the device is ' +
        'active too.',
      body: ServiceActivationInput,
      errors: [...targetErrors, 'service_state', 'service_not_subscribed', 'activation_state'],
      run: async (scope, input) => ({ view: await activations.activate(scope, input) }),
    },
  });
}

function registerDeviceServices(app: FastifyInstance, activeServices: ActiveServices): void {
  route(app, {
    method: 'GET',
    url: `${base}/logical-devices/:logicalDeviceId/services`,
    operationId: 'listDeviceServices',
    summary: 'List the services of a device',
    description: 'The active services of the device, with the state at each level above it.',
    tags,
    permission: readPermissions,
    params: Type.Object({ logicalDeviceId: identifierSchema('The logical device.') }),
    response: { 200: DeviceServiceList },
    errors: ['device_not_found'],
    async handler({ caller, params }) {
      return activeServices.explainDeviceServices(readCallerScope(caller), params.logicalDeviceId);
    },
  });
}

function registerDeactivation(app: FastifyInstance, activations: Activations): void {
  route(app, {
    method: 'POST',
    url: `${base}/deactivations`,
    operationId: 'deactivateService',
    summary: 'Deactivate a service',
    description:
      'Takes effect at once, also for all entities below. An entity that inherits its state can be ' +
      'deactivated in the same way. The platform notifies the provider.',
    tags,
    permission: writePermissions,
    body: Deactivation,
    response: { 200: ServiceActivation },
    errors: [...targetErrors, 'service_state', 'activation_state'],
    async handler(request) {
      return activations.deactivate(readScopeAndAuthor(request), request.body);
    },
  });
}

function registerAnswer(app: FastifyInstance, activations: Activations): void {
  route(app, {
    method: 'POST',
    url: `${base}/organizations/:organizationId/activations/:activationId/answer`,
    operationId: 'answerServiceActivation',
    summary: 'Answer a service activation as its provider',
    description:
      'For a provider that answered a request with 202. Its server or one of its users sends the ' +
      'answer. The same answer again changes nothing; the platform rejects a different one.',
    tags,
    permission: ['spi.events', 'svc.write'],
    params: Type.Object({
      organizationId: identifierSchema('The organisation of the activation.'),
      activationId: identifierSchema('The activation.'),
    }),
    body: ProviderActivationAnswer,
    response: { 200: AnsweredActivation },
    errors: ['resource_not_found', 'activation_state'],
    async handler(request) {
      const { params, body } = request;
      const { activationId, organizationId, serviceId, status } = await activations.answer(
        readScopeAndAuthor(request),
        params.organizationId,
        params.activationId,
        body,
      );
      return { activationId, organizationId, serviceId, status };
    },
  });
}

export function registerServiceStateRoutes(
  app: FastifyInstance,
  listServiceStates: ListServiceStates,
): void {
  route(app, {
    method: 'GET',
    url: `${base}/services/:serviceId/states`,
    operationId: 'listServiceStates',
    summary: 'List the states of a service by merchant, store or device',
    description:
      'The merchants of the organisation, the stores of a merchant or the devices of a store. ' +
      '`active` says whether the service is active at the entity, and `usable` whether it is also ' +
      'active at every level above.',
    tags,
    permission: readPermissions,
    params: Type.Object({ serviceId: identifierSchema('The service.') }),
    query: Type.Object({ ...pageQuery, ...serviceStateFilters }, { additionalProperties: false }),
    response: { 200: ServiceStateList },
    errors: ['service_not_found', 'merchant_not_found', 'store_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `states of ${params.serviceId}`;
      const page = readPageRequest(query, list);
      const { above, page: resultPage } = await listServiceStates(
        readCallerScope(caller),
        params.serviceId,
        query,
        page,
      );
      return { above, ...pageResponse(resultPage, query, list) };
    },
  });
}
