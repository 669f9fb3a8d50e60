// The addresses of application management, version 1.
import {
  Application,
  ApplicationInput,
  ApplicationReplacement,
  applicationFilters,
  findable,
  pageOf,
  RegisteredApplication,
  RenewedSecret,
  refuse,
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
} from '../../../http/index.ts';
import type { ApplicationRecord, ApplicationWithLastUse } from '../application.ts';
import type { ApplicationManagement } from './operations.ts';
import { applicationView } from './view.ts';

const collection = '/application-management/v1/user-domains/:userDomainId/applications';
const tags = ['Applications'] as const;
/** A client id, which is what the list goes on from. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
const listName = 'listApplications';

const userDomainId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The user domain of the caller, or of the organisation that is acted in.',
});
const clientId = Type.String({
  maxLength: 128,
  pattern: findable,
  description: 'The client id.',
});
const domainParams = Type.Object({ userDomainId });
const applicationParams = Type.Object({ userDomainId, clientId });

/** A domain of somebody else is as unknown as one that does not exist. */
function requireOwnDomain(
  caller: Caller,
  { userDomainId: requestedDomain }: { userDomainId: string },
): void {
  if (requestedDomain === caller.realm) return;
  refuse('resource_not_found', 'No user domain in your scope has this name.');
}

function sendApplication(
  reply: FastifyReply,
  record: ApplicationWithLastUse,
  domain: string,
): Application {
  reply.header('etag', entityTag(record.version));
  return applicationView(record, domain);
}

function registerReads(app: FastifyInstance, management: ApplicationManagement): void {
  route(app, {
    method: 'GET',
    url: collection,
    operationId: listName,
    summary: 'List: application',
    description:
      'In the order of the client ids; stable while others are added. `status=PendingApproval` lists those ' +
      'that wait for approval.',
    tags,
    // Those who approve applications read them as well.
    permission: ['app.read', 'um.write'],
    params: domainParams,
    query: Type.Object({ ...pageQuery, ...applicationFilters }, { additionalProperties: false }),
    response: { 200: pageOf(Application) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      requireOwnDomain(caller, params);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = openPage(query, listName, clientIdPattern);
      const { items, next } = await management.list(caller, filters, page);
      const views = items.map((record) => applicationView(record, caller.realm));
      return sealPage({ items: views, next }, query, listName);
    },
  });

  route(app, {
    method: 'GET',
    url: `${collection}/:clientId`,
    operationId: 'getApplication',
    summary: 'Read: application',
    tags,
    // Those who approve applications read them as well.
    permission: ['app.read', 'um.write'],
    params: applicationParams,
    response: { 200: Application },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found'],
    async handler({ caller, params }, reply) {
      requireOwnDomain(caller, params);
      return sendApplication(reply, await management.get(caller, params.clientId), caller.realm);
    },
  });
}

function registerCreate(app: FastifyInstance, management: ApplicationManagement): void {
  route(app, {
    method: 'POST',
    url: collection,
    operationId: 'createApplication',
    summary: 'Register: application',
    description:
      'The answer holds the client secret, this once. A role is given only by somebody who has ' +
      'the rights to manage that it brings; `PlatformOperator` is never given here. With a role that has ' +
      'rights to payments (`pay.*`), and a caller without `um.write`, the application is `PendingApproval`: ' +
      'it gets tokens after POST …/approve.',
    tags,
    permission: 'app.write',
    takesKey: true,
    params: domainParams,
    body: ApplicationInput,
    response: { 201: RegisteredApplication },
    answerHeaders: { 201: ['ETag'] },
    errors: [
      'resource_not_found',
      'merchant_not_found',
      'store_not_found',
      'entity_mismatch',
      'already_exists',
    ],
    async handler(request, reply) {
      const { caller, params, body, url } = request;
      requireOwnDomain(caller, params);
      const { record, clientSecret } = await management.create(request, body);
      const path = url.split('?')[0];
      reply.code(201).header('location', `${path}/${record.clientId}`);
      reply.header('cache-control', 'no-store');
      const view = sendApplication(reply, record, caller.realm);
      return clientSecret === undefined ? view : { ...view, clientSecret };
    },
  });
}

function registerChanges(app: FastifyInstance, management: ApplicationManagement): void {
  route(app, {
    method: 'PUT',
    url: `${collection}/:clientId`,
    operationId: 'replaceApplication',
    summary: 'Replace: application',
    description:
      'Members that are left out take their defaults. If-Match takes the ETag. A caller without `um.write` ' +
      'that adds rights to payments, or enables an application with such rights, makes it `PendingApproval`.',
    tags,
    permission: 'app.write',
    params: applicationParams,
    body: ApplicationReplacement,
    response: { 200: Application },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed', 'field_read_only'],
    async handler(request, reply) {
      const { caller, params, body, headers } = request;
      requireOwnDomain(caller, params);
      const echo = (record: ApplicationRecord) => {
        const view = applicationView(record, caller.realm);
        const { entityId, storeId, clientType, organizationId } = view;
        const { createdAt, updatedAt, secretChangedAt } = view;
        const stamps = { createdAt, updatedAt, secretChangedAt };
        return { ...params, entityId, storeId, clientType, organizationId, ...stamps };
      };
      const ifMatch = ifMatchOf(headers);
      const replaced = await management.replace(request, params.clientId, body, echo, ifMatch);
      return sendApplication(reply, replaced, caller.realm);
    },
  });

  route(app, {
    method: 'POST',
    url: `${collection}/:clientId/approve`,
    operationId: 'approveApplication',
    summary: 'Approve: application',
    description:
      'Ends `PendingApproval`: the application gets tokens from now on. An administrator of the organisation ' +
      'approves every application, a manager of a merchant those of the merchant. If-Match takes the ETag, so ' +
      'that what is approved is what was read.',
    tags,
    permission: 'um.write',
    params: applicationParams,
    bodyOptional: true,
    response: { 200: Application },
    answerHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'application_state', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, headers } = request;
      requireOwnDomain(caller, params);
      const approved = await management.approve(request, params.clientId, ifMatchOf(headers));
      return sendApplication(reply, approved, caller.realm);
    },
  });

  route(app, {
    method: 'POST',
    url: `${collection}/:clientId/secret`,
    operationId: 'renewClientSecret',
    summary: 'Renew the client secret',
    description:
      'The old secret is dead at once; access tokens that were issued live on. The secret of an application ' +
      'with rights to payments that does not wait for approval is renewed by callers with `um.write` only.',
    tags,
    permission: ['app.write', 'um.write'],
    takesKey: true,
    params: applicationParams,
    response: { 200: RenewedSecret },
    errors: ['resource_not_found'],
    async handler(request, reply) {
      const { caller, params } = request;
      requireOwnDomain(caller, params);
      const clientSecret = await management.rotateSecret(request, params.clientId);
      reply.header('cache-control', 'no-store');
      return { clientId: params.clientId, clientSecret };
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${collection}/:clientId`,
    operationId: 'deleteApplication',
    summary: 'Delete: application',
    description: 'Its tokens are refused within a minute, and its client id is never given again.',
    tags,
    permission: 'app.write',
    params: applicationParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, headers } = request;
      requireOwnDomain(caller, params);
      await management.remove(request, params.clientId, ifMatchOf(headers));
      return reply.code(204).send();
    },
  });
}

export function registerApplicationRoutes(
  app: FastifyInstance,
  management: ApplicationManagement,
): void {
  registerReads(app, management);
  registerCreate(app, management);
  registerChanges(app, management);
}
