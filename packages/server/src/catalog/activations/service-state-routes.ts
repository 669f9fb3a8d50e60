// HTTP route that lists the state of a service at merchants, stores or devices.
import { ServiceStateList, servicePlaceFilters } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { readCallerScope } from '../infrastructure/caller-scope.ts';
import type { ListServiceStates } from './list-entities-with-service-state.ts';

export function registerServiceStateRoutes(
  app: FastifyInstance,
  listServiceStates: ListServiceStates,
): void {
  route(app, {
    method: 'GET',
    url: '/service-catalog/v1/services/:serviceId/places',
    operationId: 'listServiceStates',
    summary: 'List the states of a service by merchant, store or device',
    description:
      'The merchants of the organisation, the stores of a merchant or the devices of a store. ' +
      '`active` says whether the service is active at the entity, and `usable` whether it is also ' +
      'active at every level above.',
    tags: ['Service catalogue'],
    permission: ['sub.read', 'conf.read'],
    params: Type.Object({
      serviceId: Type.String({ maxLength: 64, description: 'The service.' }),
    }),
    query: Type.Object({ ...pageQuery, ...servicePlaceFilters }, { additionalProperties: false }),
    response: { 200: ServiceStateList },
    errors: ['service_not_found', 'merchant_not_found', 'store_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `places of ${params.serviceId}`;
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
