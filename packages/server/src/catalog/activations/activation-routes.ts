// HTTP routes for activations, and the route at which providers answer a request.
import {
  ActivationAnswer,
  AnsweredActivation,
  activationFilters,
  Deactivation,
  DeviceServiceList,
  pageOf,
  ServiceActivation,
  ServiceActivationInput,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { byOf, scopeOf } from '../infrastructure/caller-scope.ts';
import type { Activations } from './activations.ts';
import type { Standing } from './active-services.ts';

const base = '/service-catalog/v1';
const tags = ['Service catalogue'] as const;
const readers = ['sub.read', 'conf.read'] as const;
const writers = ['sub.write', 'conf.write'] as const;
const identifier = (description: string) => Type.String({ maxLength: 64, description });
const targets = [
  'organization_not_found',
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
  'service_not_found',
] as const;

export function registerActivations(
  app: FastifyInstance,
  activations: Activations,
  standing: Standing,
): void {
  registerReads(app, activations, standing);
  registerSwitches(app, activations);
  registerAnswer(app, activations);
}

function registerReads(app: FastifyInstance, activations: Activations, standing: Standing): void {
  route(app, {
    method: 'GET',
    url: `${base}/activations`,
    operationId: 'listServiceActivations',
    summary: 'List the service activations',
    description: 'What somebody decided about; what came along with a level above has no entry.',
    tags,
    permission: readers,
    query: Type.Object({ ...pageQuery, ...activationFilters }, { additionalProperties: false }),
    response: { 200: pageOf(ServiceActivation) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listServiceActivations');
      const found = await activations.list(scopeOf(caller), query, page);
      return pageResponse(found, query, 'listServiceActivations');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/activations/:activationId`,
    operationId: 'getServiceActivation',
    summary: 'Get a service activation',
    tags,
    permission: readers,
    params: Type.Object({ activationId: identifier('The activation.') }),
    response: { 200: ServiceActivation },
    errors: ['resource_not_found'],
    async handler({ caller, params }) {
      return activations.get(scopeOf(caller), params.activationId);
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/logical-devices/:logicalDeviceId/services`,
    operationId: 'listDeviceServices',
    summary: 'List the services of a device',
    description: 'Which services are active at the device, and how each level above it stands.',
    tags,
    permission: readers,
    params: Type.Object({ logicalDeviceId: identifier('The logical device.') }),
    response: { 200: DeviceServiceList },
    errors: ['device_not_found'],
    async handler({ caller, params }) {
      return standing.explain(scopeOf(caller), params.logicalDeviceId);
    },
  });
}

function registerSwitches(app: FastifyInstance, activations: Activations): void {
  route(app, {
    method: 'POST',
    url: `${base}/activations`,
    operationId: 'createServiceActivation',
    summary: 'Create a service activation',
    description:
      'A service with a provider’s address is `Requested` until the provider has answered, others ' +
      'are `Active` at once. A device uses it once every level above is active too.',
    tags,
    permission: writers,
    takesIdempotencyKey: true,
    body: ServiceActivationInput,
    response: { 201: ServiceActivation },
    errors: [...targets, 'service_state', 'service_not_subscribed', 'activation_state'],
    async handler(request, reply) {
      const made = await activations.activate(byOf(request), request.body);
      reply.code(201).header('location', `${base}/activations/${made.activationId}`);
      return made;
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/deactivations`,
    operationId: 'deactivateService',
    summary: 'Deactivate a service',
    description:
      'Takes effect at once, for all below too. An entity that came along with a level above is ' +
      'switched off the same way. The provider is told.',
    tags,
    permission: writers,
    body: Deactivation,
    response: { 200: ServiceActivation },
    errors: [...targets, 'service_state', 'activation_state'],
    async handler(request) {
      return activations.deactivate(byOf(request), request.body);
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
      'For a provider that took a request with 202: its server, or a person of it. The same answer ' +
      'again changes nothing; another one is refused.',
    tags,
    permission: ['spi.events', 'svc.write'],
    params: Type.Object({
      organizationId: identifier('The organisation that asked.'),
      activationId: identifier('The activation.'),
    }),
    body: ActivationAnswer,
    response: { 200: AnsweredActivation },
    errors: ['resource_not_found', 'activation_state'],
    async handler(request) {
      const { params, body } = request;
      const { activationId, organizationId, serviceId, status } = await activations.answer(
        byOf(request),
        params.organizationId,
        params.activationId,
        body,
      );
      return { activationId, organizationId, serviceId, status };
    },
  });
}
