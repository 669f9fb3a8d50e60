// HTTP route for the search over all provisioned entities.
import {
  FoundItem,
  type ProvisioningCriteria,
  pageOf,
  provisioningCriteria,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { toCallerScope } from '../resources/caller-scope.ts';
import { type SearchEntities, searchCursorPattern } from './search-entities.ts';

const operationId = 'searchProvisionedEntities';

export function registerSearchRoute(app: FastifyInstance, search: SearchEntities): void {
  route(app, {
    method: 'GET',
    url: '/provisioning/v2/search',
    operationId,
    summary: 'Search the provisioned entities',
    description:
      'Results are grouped by type; with `q` they are sorted by name, otherwise by creation time. ' +
      'Pages stay consistent while entities are added. At least one of `q`, `externalId`, ' +
      '`serialNumber`, `merchantId` and `storeId` is required.',
    tags: ['Provisioning'],
    permission: 'prov.read',
    query: Type.Object({ ...pageQuery, ...provisioningCriteria }, { additionalProperties: false }),
    response: { 200: pageOf(FoundItem) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler(request) {
      const { query } = request;
      const page = readPageRequest(query, operationId, searchCursorPattern);
      const criteria: ProvisioningCriteria = query;
      const foundPage = await search(toCallerScope(request.caller, request.id), criteria, page);
      return pageResponse(foundPage, query, operationId);
    },
  });
}
