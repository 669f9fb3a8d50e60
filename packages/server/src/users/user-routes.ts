// The addresses of user management, version 2.
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
  ifMatchOf,
  openPage,
  pageQuery,
  route,
  sealPage,
} from '../http/index.ts';
import type { User } from '../identity/index.ts';
import { demandDomain, userDomainId } from './caller-scope.ts';
import type { Asked, Users } from './user-management.ts';
import { viewOf } from './user-view.ts';

const collection = '/user-management/v2/user-domains/:userDomainId/users';
const one = `${collection}/:userId`;
const tags = ['Users'] as const;
const listName = 'listUsers';
/** A user name as names are compared, which is what the list goes on from. */
const keyForm = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;

const userId = Type.String({ maxLength: 64, description: 'The user.' });
const ofDomain = Type.Object({ userDomainId });
const ofUser = Type.Object({ userDomainId, userId });

type Request = {
  readonly caller: Caller;
  readonly id: string;
  readonly headers: Readonly<Record<string, unknown>>;
};

const askedBy = ({ caller, id, headers }: Request): Asked => ({
  caller,
  requestId: id,
  ifMatch: ifMatchOf(headers),
});

function send(reply: FastifyReply, user: User, { realm }: Caller): UserView {
  reply.header('etag', entityTag(user.version));
  return viewOf(user, realm);
}

function registerReads(app: FastifyInstance, users: Users): void {
  route(app, {
    method: 'GET',
    url: collection,
    operationId: listName,
    summary: 'List: user',
    description: 'In the order of the user names; stable while others are added.',
    tags,
    permission: 'um.read',
    params: ofDomain,
    query: Type.Object({ ...pageQuery, ...userFilters }, { additionalProperties: false }),
    response: { 200: pageOf(UserView) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      demandDomain(caller, params);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = openPage(query, listName, keyForm);
      const { items, next } = await users.list(caller, filters, page);
      const shown = items.map((user) => viewOf(user, caller.realm));
      return sealPage({ items: shown, next }, query, listName);
    },
  });

  route(app, {
    method: 'GET',
    url: one,
    operationId: 'getUser',
    summary: 'Read: user',
    tags,
    permission: 'um.read',
    params: ofUser,
    response: { 200: UserView },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found'],
    async handler({ caller, params }, reply) {
      demandDomain(caller, params);
      return send(reply, await users.get(caller, params.userId), caller);
    },
  });
}

function registerWrites(app: FastifyInstance, users: Users): void {
  route(app, {
    method: 'POST',
    url: collection,
    operationId: 'createUser',
    summary: 'Create: user',
    description:
      'The user gets a mail with a link, good once and for 24 hours, that verifies the address and ' +
      'sets the password. Nobody gives a group with rights to manage that he has not himself.',
    tags,
    permission: 'um.write',
    takesKey: true,
    params: ofDomain,
    body: UserInput,
    response: { 201: UserView },
    answerHeaders: { 201: ['ETag'] },
    errors: ['resource_not_found', 'merchant_not_found', 'entity_mismatch', 'already_exists'],
    async handler(request, reply) {
      const { caller, params, body, url } = request;
      demandDomain(caller, params);
      const user = await users.create(askedBy(request), body);
      reply.code(201).header('location', `${url.split('?')[0]}/${user.userId}`);
      return send(reply, user, caller);
    },
  });

  route(app, {
    method: 'PUT',
    url: one,
    operationId: 'replaceUser',
    summary: 'Edit: user',
    description:
      'The fields of creation; `username`, `entityId` and `scope` stay as they were made. A new ' +
      'mail address takes effect once the link that is sent to it is followed; left out, address ' +
      'and groups stay, and whatever else is left out is gone. If-Match takes the ETag.',
    tags,
    permission: 'um.write',
    params: ofUser,
    body: UserReplacement,
    response: { 200: UserView },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed', 'field_read_only'],
    async handler(request, reply) {
      const { caller, params, body } = request;
      demandDomain(caller, params);
      return send(reply, await users.replace(askedBy(request), params.userId, body), caller);
    },
  });
}

function registerStates(app: FastifyInstance, users: Users): void {
  route(app, {
    method: 'PUT',
    url: `${one}/status`,
    operationId: 'setUserStatus',
    summary: 'Activate or deactivate: user',
    description:
      'Deactivated, a user is signed out at once and his access tokens are refused within a minute.',
    tags,
    permission: 'um.write',
    params: ofUser,
    body: UserStatus,
    response: { 200: UserView },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, body } = request;
      demandDomain(caller, params);
      const user = await users.setStatus(askedBy(request), params.userId, body.status);
      return send(reply, user, caller);
    },
  });

  route(app, {
    method: 'POST',
    url: `${one}/reset-password`,
    operationId: 'resetUserPassword',
    summary: 'Reset the password: user',
    description:
      'Mails a link to a new password, good once and for an hour; whoever has none yet is invited ' +
      'anew. The old password stays until the link is followed.',
    tags,
    permission: 'um.write',
    params: ofUser,
    response: { 202: UserView },
    answerHeaders: { 202: ['ETag'] },
    errors: ['resource_not_found', 'user_deactivated', 'rate_limited'],
    async handler(request, reply) {
      const { caller, params } = request;
      demandDomain(caller, params);
      const user = await users.sendPasswordLink(askedBy(request), params.userId);
      return send(reply.code(202), user, caller);
    },
  });

  route(app, {
    method: 'POST',
    url: `${one}/reset-second-factor`,
    operationId: 'resetUserSecondFactor',
    summary: 'Reset the second factor: user',
    description:
      'For a lost phone: one-time codes, recovery codes and passkeys are gone, every session ends, ' +
      'and a new second factor is set up at the next sign-in. The user is told by mail.',
    tags,
    permission: 'um.write',
    params: ofUser,
    response: { 200: UserView },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params } = request;
      demandDomain(caller, params);
      return send(reply, await users.resetSecondFactor(askedBy(request), params.userId), caller);
    },
  });
}

export function registerUserRoutes(app: FastifyInstance, users: Users): void {
  registerReads(app, users);
  registerWrites(app, users);
  registerStates(app, users);
}
