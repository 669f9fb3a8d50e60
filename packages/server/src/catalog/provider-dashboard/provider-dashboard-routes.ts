// HTTP routes for a provider to see the activations of its services and the calls to its server.
import { pageOf, ServiceCalls, ServiceUse, serviceUseFilters } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { readCallerScope } from '../infrastructure/caller-scope.ts';
import type { ProviderDashboard } from './provider-dashboard.ts';

const base = '/service-catalog/v1/services/:serviceId';
const tags = ['Service catalogue'] as const;
const hoursDefault = 24;
const hoursMax = 168;
const serviceParams = Type.Object({
  serviceId: Type.String({ maxLength: 64, description: 'The service.' }),
});

export function registerProviderDashboardRoutes(
  app: FastifyInstance,
  dashboard: ProviderDashboard,
): void {
  route(app, {
    method: 'GET',
    url: `${base}/activations`,
    operationId: 'listServiceUses',
    summary: 'List the uses of a service',
    description:
      'The organisations that use a service of the caller, or its activations at another level, ' +
      'newest first. Each has the handshake that an answer must name.',
    tags,
    permission: 'svc.read',
    params: serviceParams,
    query: Type.Object({ ...pageQuery, ...serviceUseFilters }, { additionalProperties: false }),
    response: { 200: pageOf(ServiceUse) },
    errors: ['service_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `uses of ${params.serviceId}`;
      const page = readPageRequest(query, list);
      const resultPage = await dashboard.listUses(
        readCallerScope(caller),
        params.serviceId,
        query,
        page,
      );
      return pageResponse(resultPage, query, list);
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/calls`,
    operationId: 'getServiceCallStatistics',
    summary: 'Get the call statistics of a service',
    description:
      'The calls of the platform to a service of the caller: number, outcome and response time, by ' +
      'type of call and by hour. The platform stores them for one week.',
    tags,
    permission: 'svc.read',
    params: serviceParams,
    query: Type.Object(
      {
        hours: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: hoursMax,
            default: hoursDefault,
            description: 'The number of past hours.',
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
      return dashboard.getCallStatistics(
        readCallerScope(caller),
        params.serviceId,
        query.hours ?? hoursDefault,
      );
    },
  });
}
