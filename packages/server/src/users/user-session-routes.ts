// The addresses of a user's sessions.
import { pageOf, UserSession } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { openPage, pageQuery, route, sealPage } from '../http/index.ts';
import { demandDomain, userDomainId } from './caller-scope.ts';
import type { UserSessions } from './user-sessions.ts';

const collection = '/user-management/v2/user-domains/:userDomainId/users/:userId/sessions';
const tags = ['Users'] as const;
const listName = 'listUserSessions';
const keyForm = /^[\w-]{1,64}$/;

const userId = Type.String({ maxLength: 64, description: 'The user.' });
const sessionId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The one session that ends; left out, all of them do.',
});
const ofUser = Type.Object({ userDomainId, userId });

export function registerUserSessionRoutes(app: FastifyInstance, sessions: UserSessions): void {
  route(app, {
    method: 'GET',
    url: collection,
    operationId: listName,
    summary: 'List: session of a user',
    description: 'Where the user is signed in, the newest first.',
    tags,
    permission: 'um.read',
    params: ofUser,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(UserSession) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      demandDomain(caller, params);
      const page = openPage(query, listName, keyForm);
      return sealPage(await sessions.list(caller, params.userId, page), query, listName);
    },
  });

  route(app, {
    method: 'DELETE',
    url: collection,
    operationId: 'endUserSessions',
    summary: 'End: sessions of a user',
    description:
      'The user is signed out everywhere, or at the one session that `sessionId` names; access ' +
      'tokens are refused within a minute.',
    tags,
    permission: 'um.write',
    params: ofUser,
    query: Type.Object({ sessionId: Type.Optional(sessionId) }, { additionalProperties: false }),
    response: { 204: null },
    errors: ['resource_not_found'],
    async handler({ caller, id, params, query }, reply) {
      demandDomain(caller, params);
      await sessions.end({ caller, id }, params.userId, query.sessionId);
      return reply.code(204).send();
    },
  });
}
