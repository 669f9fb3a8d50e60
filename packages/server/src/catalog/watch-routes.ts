// HTTP routes for providers to watch their services, and for administrators to see service states.
import {
  pageOf,
  ServiceCalls,
  ServiceStateList,
  ServiceUse,
  servicePlaceFilters,
  serviceUseFilters,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../http/index.ts';
import { scopeOf } from './deps.ts';
import type { StandingBelow } from './standing-below.ts';
import type { Watch } from './watch.ts';

const base = '/service-catalog/v1/services/:serviceId';
const tags = ['Service catalogue'] as const;
const hoursDefault = 24;
const hoursMax = 168;
const ofService = Type.Object({
  serviceId: Type.String({ maxLength: 64, description: 'The service.' }),
});

export function registerWatch(app: FastifyInstance, watch: Watch, below: StandingBelow): void {
  registerProviders(app, watch);
  route(app, {
    method: 'GET',
    url: `${base}/places`,
    operationId: 'listServiceStates',
    summary: 'List the states of a service by merchant, store or device',
    description:
      'The merchants of the organisation, the stores of a merchant or the devices of a store, each ' +
      'with whether the service is active at it, and usable: active at every level above, too.',
    tags,
    permission: ['sub.read', 'conf.read'],
    params: ofService,
    query: Type.Object({ ...pageQuery, ...servicePlaceFilters }, { additionalProperties: false }),
    response: { 200: ServiceStateList },
    errors: ['service_not_found', 'merchant_not_found', 'store_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `places of ${params.serviceId}`;
      const page = readPageRequest(query, list);
      const { above, found } = await below(scopeOf(caller), params.serviceId, query, page);
      return { above, ...pageResponse(found, query, list) };
    },
  });
}

function registerProviders(app: FastifyInstance, watch: Watch): void {
  route(app, {
    method: 'GET',
    url: `${base}/activations`,
    operationId: 'listServiceUses',
    summary: 'List the uses of a service',
    description:
      'The organisations that use a service of one’s own, or its activations at another level, the ' +
      'newest first, with the request that an answer names.',
    tags,
    permission: 'svc.read',
    params: ofService,
    query: Type.Object({ ...pageQuery, ...serviceUseFilters }, { additionalProperties: false }),
    response: { 200: pageOf(ServiceUse) },
    errors: ['service_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `uses of ${params.serviceId}`;
      const page = readPageRequest(query, list);
      const found = await watch.uses(scopeOf(caller), params.serviceId, query, page);
      return pageResponse(found, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/calls`,
    operationId: 'getServiceCallStatistics',
    summary: 'Get the call statistics of a service',
    description:
      'The calls of the platform to a service of one’s own: how many were answered and how fast, by ' +
      'what was asked and by the hour. Kept for a week.',
    tags,
    permission: 'svc.read',
    params: ofService,
    query: Type.Object(
      {
        hours: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: hoursMax,
            default: hoursDefault,
            description: 'How many hours back.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: { 200: ServiceCalls },
    errors: ['service_not_found'],
    priority: 'list',
    handler: async ({ caller, params, query }, reply) => {
      reply.header('cache-control', 'no-store');
      return watch.calls(scopeOf(caller), params.serviceId, query.hours ?? hoursDefault);
    },
  });
}
