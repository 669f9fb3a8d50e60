// The address of the predefined groups.
import { Group, groupFilters, pageOf } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { openPage, pageQuery, route, sealPage } from '../http/index.ts';
import { demandDomain, userDomainId } from './caller-scope.ts';
import type { Groups } from './predefined-groups.ts';

const listName = 'listGroups';
/** The group without its entity, which is what the list goes on from. */
const keyForm = /^[a-z_]{1,32}$/;

export function registerGroupRoutes(app: FastifyInstance, groups: Groups): void {
  route(app, {
    method: 'GET',
    url: '/user-management/v2/user-domains/:userDomainId/groups',
    operationId: listName,
    summary: 'List: group',
    description:
      'The predefined groups of an organisation or of a merchant, with what their users may do. ' +
      'They are made with the entity, and nobody changes them.',
    tags: ['Users'],
    permission: 'um.read',
    params: Type.Object({ userDomainId }),
    query: Type.Object({ ...pageQuery, ...groupFilters }, { additionalProperties: false }),
    response: { 200: pageOf(Group) },
    errors: ['cursor_invalid', 'resource_not_found', 'merchant_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      demandDomain(caller, params);
      const page = openPage(query, listName, keyForm);
      return sealPage(await groups.list(caller, query, page), query, listName);
    },
  });
}
