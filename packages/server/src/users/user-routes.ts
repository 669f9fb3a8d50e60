// The HTTP routes of user management: users, their sessions, and the predefined groups.
import {
  Group,
  groupFilters,
  UserInput,
  UserReplacement,
  UserSession,
  UserStatus,
  UserView,
  userFilters,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type AuthenticatedRequest,
  readIfMatch,
  registerResourceRoutes,
  route,
  sendWithETag,
} from '../http/index.ts';
import { requireOwnUserDomain, userDomainIdSchema } from '../identity/index.ts';
import type { PredefinedGroups } from './predefined-groups.ts';
import type { UserManagement, UserRequestContext } from './user-management.ts';
import type { UserSessions } from './user-sessions.ts';

const domainPath = '/user-management/v2/user-domains/:userDomainId';
const usersPath = `${domainPath}/users`;
const userPath = `${usersPath}/:userId`;
const sessionsPath = `${userPath}/sessions`;
const tags = ['Users'] as const;
/** The key of the list of users: a normalized user name. */
const usernameKey = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;
const sessionKey = /^[\w-]{1,64}$/;
/** The key of the list of groups: the group without its entity. */
const groupKey = /^[a-z_]{1,32}$/;

const domainIdentifiers = { userDomainId: userDomainIdSchema };
const userIdentifiers = {
  ...domainIdentifiers,
  userId: Type.String({ maxLength: 64, description: 'The identifier of the user.' }),
};
const sessionId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The session to end; if missing, all sessions of the user end.',
});

function toUserRequest(request: AuthenticatedRequest): UserRequestContext {
  const { caller, id, headers } = request;
  requireOwnUserDomain(request);
  return { caller, id, ifMatch: readIfMatch(headers) };
}

export function registerUserRoutes(app: FastifyInstance, users: UserManagement): void {
  registerResourceRoutes(app, {
    path: usersPath,
    singular: 'User',
    plural: 'Users',
    tags,
    readPermission: 'um.read',
    writePermission: 'um.write',
    identifiers: userIdentifiers,
    view: UserView,
    notFoundCode: 'resource_not_found',
    scopeErrors: ['resource_not_found'],
    scope: toUserRequest,
    list: {
      description: 'In the order of the user names. Pages stay stable while users are added.',
      filters: userFilters,
      cursorKey: usernameKey,
      run: ({ caller }, filters, page) => users.list(caller, filters, page),
    },
    get: { run: ({ caller }, userId) => users.get(caller, userId) },
    create: {
      description:
        'Sends the user an email with a link, valid once and for 24 hours, that verifies the address and ' +
        'sets the password. Callers cannot assign a group with management permissions that they do not have.',
      body: UserInput,
      errors: ['merchant_not_found', 'entity_mismatch', 'already_exists'],
      run: users.create,
    },
    update: {
      description:
        'Accepts the fields of the creation; `username`, `entityId` and `scope` are read-only. A new ' +
        'email address takes effect when the user follows the link that is sent to it. If `email` or `groups` ' +
        'are missing, they stay; other missing fields are removed. If-Match takes the ETag.',
      body: UserReplacement,
      run: (request, userId, input) => users.replace(request, userId, input),
    },
  });
  registerUserActions(app, users);
}

function registerUserActions(app: FastifyInstance, users: UserManagement): void {
  const permission = 'um.write';
  const params = Type.Object(userIdentifiers);

  route(app, {
    method: 'PUT',
    url: `${userPath}/status`,
    operationId: 'updateUserStatus',
    summary: 'Update the status of a user',
    description:
      'Deactivation ends the sessions of the user at once; access tokens are rejected within a minute.',
    tags,
    permission,
    params,
    body: UserStatus,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { params, body } = request;
      const userRequest = toUserRequest(request);
      return sendWithETag(reply, await users.setStatus(userRequest, params.userId, body.status));
    },
  });

  route(app, {
    method: 'POST',
    url: `${userPath}/reset-password`,
    operationId: 'resetUserPassword',
    summary: 'Reset the password of a user',
    description:
      'Sends an email with a link to set a new password, valid once and for one hour. A user without a ' +
      'password gets a new invitation. The old password stays valid until the link is used.',
    tags,
    permission,
    params,
    response: { 202: UserView },
    responseHeaders: { 202: ['ETag'] },
    errors: ['resource_not_found', 'user_deactivated', 'rate_limited'],
    async handler(request, reply) {
      const userRequest = toUserRequest(request);
      const user = await users.sendPasswordLink(userRequest, request.params.userId);
      return sendWithETag(reply.code(202), user);
    },
  });

  route(app, {
    method: 'POST',
    url: `${userPath}/reset-second-factor`,
    operationId: 'resetUserSecondFactor',
    summary: 'Reset the second factor of a user',
    description:
      'For a lost phone: deletes one-time codes, recovery codes and passkeys and ends every session. ' +
      'The user sets up a new second factor at the next sign-in and gets an email about the reset.',
    tags,
    permission,
    params,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const userRequest = toUserRequest(request);
      const user = await users.resetSecondFactor(userRequest, request.params.userId);
      return sendWithETag(reply, user);
    },
  });
}

export function registerUserSessionRoutes(app: FastifyInstance, sessions: UserSessions): void {
  registerResourceRoutes(app, {
    path: sessionsPath,
    singular: 'UserSession',
    plural: 'UserSessions',
    tags,
    readPermission: 'um.read',
    identifiers: { ...userIdentifiers, sessionId },
    view: UserSession,
    notFoundCode: 'resource_not_found',
    scopeErrors: ['resource_not_found'],
    scope(request) {
      requireOwnUserDomain(request);
      const { userId } = request.params as { readonly userId: string };
      return { caller: request.caller, userId };
    },
    list: {
      summary: 'List the sessions of a user',
      description: 'The sessions of the user, newest first.',
      cursorKey: sessionKey,
      run: ({ caller, userId }, _filters, page) => sessions.list(caller, userId, page),
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
    params: Type.Object(userIdentifiers),
    query: Type.Object({ sessionId: Type.Optional(sessionId) }, { additionalProperties: false }),
    response: { 204: null },
    errors: ['resource_not_found'],
    async handler(request, reply) {
      requireOwnUserDomain(request);
      await sessions.end(request, request.params.userId, request.query.sessionId);
      return reply.code(204).send();
    },
  });
}

export function registerGroupRoutes(app: FastifyInstance, groups: PredefinedGroups): void {
  registerResourceRoutes(app, {
    path: `${domainPath}/groups`,
    singular: 'Group',
    plural: 'Groups',
    tags,
    readPermission: 'um.read',
    identifiers: { ...domainIdentifiers, group: Type.String() },
    view: Group,
    notFoundCode: 'resource_not_found',
    scopeErrors: ['resource_not_found', 'merchant_not_found'],
    scope(request) {
      requireOwnUserDomain(request);
      return request.caller;
    },
    list: {
      summary: 'List groups',
      description:
        'The predefined groups of an organisation or of a merchant, with the permissions of their users. ' +
        'They exist from the creation of the entity and cannot be changed.',
      filters: groupFilters,
      cursorKey: groupKey,
      run: groups.list,
    },
  });
}
