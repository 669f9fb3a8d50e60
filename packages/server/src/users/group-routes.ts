// The HTTP route of the predefined groups.
import { Group, groupFilters, pageOf } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../http/index.ts';
import { requireOwnUserDomain, userDomainIdSchema } from './caller-scope.ts';
import type { PredefinedGroups } from './predefined-groups.ts';

const listOperationId = 'listGroups';
/** The key of the list: the group without its entity. */
const cursorKeyPattern = /^[a-z_]{1,32}$/;

export function registerGroupRoutes(app: FastifyInstance, groups: PredefinedGroups): void {
  route(app, {
    method: 'GET',
    url: '/user-management/v2/user-domains/:userDomainId/groups',
    operationId: listOperationId,
    summary: 'List groups',
    description:
      'The predefined groups of an organisation or of a merchant, with the permissions of their users. ' +
      'They exist from the creation of the entity and cannot be changed.',
    tags: ['Users'],
    permission: 'um.read',
    params: Type.Object({ userDomainId: userDomainIdSchema }),
    query: Type.Object({ ...pageQuery, ...groupFilters }, { additionalProperties: false }),
    response: { 200: pageOf(Group) },
    errors: ['cursor_invalid', 'resource_not_found', 'merchant_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      requireOwnUserDomain(caller, params);
      const page = readPageRequest(query, listOperationId, cursorKeyPattern);
      return pageResponse(await groups.list(caller, query, page), query, listOperationId);
    },
  });
}
