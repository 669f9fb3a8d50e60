// The HTTP routes of the sessions of a user.
import { pageOf, UserSession } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../http/index.ts';
import { requireOwnUserDomain, userDomainIdSchema } from './caller-scope.ts';
import type { UserSessions } from './user-sessions.ts';

const sessionsPath = '/user-management/v2/user-domains/:userDomainId/users/:userId/sessions';
const tags = ['Users'] as const;
const listOperationId = 'listUserSessions';
const cursorKeyPattern = /^[\w-]{1,64}$/;

const userId = Type.String({ maxLength: 64, description: 'The identifier of the user.' });
const sessionId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The session to end; if missing, all sessions of the user end.',
});
const userParams = Type.Object({ userDomainId: userDomainIdSchema, userId });

export function registerUserSessionRoutes(app: FastifyInstance, sessions: UserSessions): void {
  route(app, {
    method: 'GET',
    url: sessionsPath,
    operationId: listOperationId,
    summary: 'List the sessions of a user',
    description: 'The sessions of the user, newest first.',
    tags,
    permission: 'um.read',
    params: userParams,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(UserSession) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      requireOwnUserDomain(caller, params);
      const page = readPageRequest(query, listOperationId, cursorKeyPattern);
      return pageResponse(await sessions.list(caller, params.userId, page), query, listOperationId);
    },
  });

  route(app, {
    method: 'DELETE',
    url: sessionsPath,
    operationId: 'deleteUserSessions',
    summary: 'Delete all sessions of a user',
    description:
      'Ends all sessions of the user, or only the session in `sessionId`. Access ' +
      'tokens are rejected within a minute.',
    tags,
    permission: 'um.write',
    params: userParams,
    query: Type.Object({ sessionId: Type.Optional(sessionId) }, { additionalProperties: false }),
    response: { 204: null },
    errors: ['resource_not_found'],
    async handler({ caller, id, params, query }, reply) {
      requireOwnUserDomain(caller, params);
      await sessions.end({ caller, id }, params.userId, query.sessionId);
      return reply.code(204).send();
    },
  });
}
