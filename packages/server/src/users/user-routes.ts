// The HTTP routes of user management, version 2.
import {
  pageOf,
  UserInput,
  UserReplacement,
  UserStatus,
  UserView,
  userFilters,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import {
  type Caller,
  entityTag,
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
} from '../http/index.ts';
import type { User } from '../identity/index.ts';
import { requireOwnUserDomain, userDomainIdSchema } from './caller-scope.ts';
import type { UserManagement, UserRequestContext } from './user-management.ts';
import { toUserView } from './user-view.ts';

const usersPath = '/user-management/v2/user-domains/:userDomainId/users';
const userPath = `${usersPath}/:userId`;
const tags = ['Users'] as const;
const listOperationId = 'listUsers';
/** The key of the list: a normalized user name. */
const cursorKeyPattern = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;

const userId = Type.String({ maxLength: 64, description: 'The identifier of the user.' });
const domainParams = Type.Object({ userDomainId: userDomainIdSchema });
const userParams = Type.Object({ userDomainId: userDomainIdSchema, userId });

type Request = {
  readonly caller: Caller;
  readonly id: string;
  readonly headers: Readonly<Record<string, unknown>>;
};

const toUserRequest = ({ caller, id, headers }: Request): UserRequestContext => ({
  caller,
  requestId: id,
  ifMatch: readIfMatch(headers),
});

function sendUser(reply: FastifyReply, user: User, { realm }: Caller): UserView {
  reply.header('etag', entityTag(user.version));
  return toUserView(user, realm);
}

function registerReads(app: FastifyInstance, users: UserManagement): void {
  route(app, {
    method: 'GET',
    url: usersPath,
    operationId: listOperationId,
    summary: 'List users',
    description: 'In the order of the user names. Pages stay stable while users are added.',
    tags,
    permission: 'um.read',
    params: domainParams,
    query: Type.Object({ ...pageQuery, ...userFilters }, { additionalProperties: false }),
    response: { 200: pageOf(UserView) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      requireOwnUserDomain(caller, params);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = readPageRequest(query, listOperationId, cursorKeyPattern);
      const { items, next } = await users.list(caller, filters, page);
      const views = items.map((user) => toUserView(user, caller.realm));
      return pageResponse({ items: views, next }, query, listOperationId);
    },
  });

  route(app, {
    method: 'GET',
    url: userPath,
    operationId: 'getUser',
    summary: 'Get a user',
    tags,
    permission: 'um.read',
    params: userParams,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found'],
    async handler({ caller, params }, reply) {
      requireOwnUserDomain(caller, params);
      return sendUser(reply, await users.get(caller, params.userId), caller);
    },
  });
}

function registerWrites(app: FastifyInstance, users: UserManagement): void {
  route(app, {
    method: 'POST',
    url: usersPath,
    operationId: 'createUser',
    summary: 'Create a user',
    description:
      'Sends the user an email with a link, valid once and for 24 hours, that verifies the address and ' +
      'sets the password. Callers cannot assign a group with management permissions that they do not have.',
    tags,
    permission: 'um.write',
    takesIdempotencyKey: true,
    params: domainParams,
    body: UserInput,
    response: { 201: UserView },
    responseHeaders: { 201: ['ETag'] },
    errors: ['resource_not_found', 'merchant_not_found', 'entity_mismatch', 'already_exists'],
    async handler(request, reply) {
      const { caller, params, body, url } = request;
      requireOwnUserDomain(caller, params);
      const user = await users.create(toUserRequest(request), body);
      reply.code(201).header('location', `${url.split('?')[0]}/${user.userId}`);
      return sendUser(reply, user, caller);
    },
  });

  route(app, {
    method: 'PUT',
    url: userPath,
    operationId: 'updateUser',
    summary: 'Update a user',
    description:
      'Accepts the fields of the creation; `username`, `entityId` and `scope` are read-only. A new ' +
      'email address takes effect when the user follows the link that is sent to it. If `email` or `groups` ' +
      'are missing, they stay; other missing fields are removed. If-Match takes the ETag.',
    tags,
    permission: 'um.write',
    params: userParams,
    body: UserReplacement,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed', 'field_read_only'],
    async handler(request, reply) {
      const { caller, params, body } = request;
      requireOwnUserDomain(caller, params);
      return sendUser(
        reply,
        await users.replace(toUserRequest(request), params.userId, body),
        caller,
      );
    },
  });
}

function registerStates(app: FastifyInstance, users: UserManagement): void {
  route(app, {
    method: 'PUT',
    url: `${userPath}/status`,
    operationId: 'updateUserStatus',
    summary: 'Update the status of a user',
    description:
      'Deactivation ends the sessions of the user at once; access tokens are rejected within a minute.',
    tags,
    permission: 'um.write',
    params: userParams,
    body: UserStatus,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, body } = request;
      requireOwnUserDomain(caller, params);
      const user = await users.setStatus(toUserRequest(request), params.userId, body.status);
      return sendUser(reply, user, caller);
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
    permission: 'um.write',
    params: userParams,
    response: { 202: UserView },
    responseHeaders: { 202: ['ETag'] },
    errors: ['resource_not_found', 'user_deactivated', 'rate_limited'],
    async handler(request, reply) {
      const { caller, params } = request;
      requireOwnUserDomain(caller, params);
      const user = await users.sendPasswordLink(toUserRequest(request), params.userId);
      return sendUser(reply.code(202), user, caller);
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
    permission: 'um.write',
    params: userParams,
    response: { 200: UserView },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params } = request;
      requireOwnUserDomain(caller, params);
      return sendUser(
        reply,
        await users.resetSecondFactor(toUserRequest(request), params.userId),
        caller,
      );
    },
  });
}

export function registerUserRoutes(app: FastifyInstance, users: UserManagement): void {
  registerReads(app, users);
  registerWrites(app, users);
  registerStates(app, users);
}
