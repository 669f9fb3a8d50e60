// The routes of application management, version 1.
import {
  Application,
  ApplicationInput,
  ApplicationReplacement,
  applicationFilters,
  findable,
  pageOf,
  RegisteredApplication,
  RenewedSecret,
  throwProblem,
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
} from '../../../http/index.ts';
import type { ApplicationRecord, ApplicationWithLastUse } from '../application-types.ts';
import type { ApplicationManagement } from './operations.ts';
import { applicationView } from './view.ts';

const collection = '/application-management/v1/user-domains/:userDomainId/applications';
const tags = ['Applications'] as const;
/** The list cursor is a client id. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
const listName = 'listApplications';

const userDomainId = Type.String({
  minLength: 1,
  maxLength: 64,
  description:
    'The user domain of the caller, or of the organisation that the caller has selected.',
});
const clientId = Type.String({
  maxLength: 128,
  pattern: findable,
  description: 'The client id.',
});
const domainParams = Type.Object({ userDomainId });
const applicationParams = Type.Object({ userDomainId, clientId });

/** Other user domains are answered like missing ones. */
function requireOwnDomain(
  caller: Caller,
  { userDomainId: requestedDomain }: { userDomainId: string },
): void {
  if (requestedDomain === caller.realm) return;
  throwProblem('resource_not_found', 'No user domain that you may see has this name.');
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
    summary: 'List applications',
    description:
      'Sorted by client id; stable while applications are added. `status=PendingApproval` lists those ' +
      'that wait for approval.',
    tags,
    // Callers with the right to approve applications may also read them.
    permission: ['app.read', 'um.write'],
    params: domainParams,
    query: Type.Object({ ...pageQuery, ...applicationFilters }, { additionalProperties: false }),
    response: { 200: pageOf(Application) },
    errors: ['cursor_invalid', 'resource_not_found'],
    priority: 'list',
    async handler({ caller, params, query }) {
      requireOwnDomain(caller, params);
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = readPageRequest(query, listName, clientIdPattern);
      const { items, next } = await management.list(caller, filters, page);
      const views = items.map((record) => applicationView(record, caller.realm));
      return pageResponse({ items: views, next }, query, listName);
    },
  });

  route(app, {
    method: 'GET',
    url: `${collection}/:clientId`,
    operationId: 'getApplication',
    summary: 'Get an application',
    tags,
    // Callers with the right to approve applications may also read them.
    permission: ['app.read', 'um.write'],
    params: applicationParams,
    response: { 200: Application },
    responseHeaders: { 200: ['ETag'] },
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
    summary: 'Create an application',
    description:
      'Only this response contains the client secret. A caller can assign a role only with ' +
      'the administrative permissions of the role; `PlatformOperator` cannot be assigned. With a role that has ' +
      'permissions for payments (`pay.*`) and a caller without `um.write`, the status is `PendingApproval`: ' +
      'the application gets tokens after POST …/approve.',
    tags,
    permission: 'app.write',
    takesIdempotencyKey: true,
    params: domainParams,
    body: ApplicationInput,
    response: { 201: RegisteredApplication },
    responseHeaders: { 201: ['ETag'] },
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
    operationId: 'updateApplication',
    summary: 'Update an application',
    description:
      'Missing fields get their defaults. Send the ETag in If-Match. A caller without `um.write` ' +
      'that adds permissions for payments, or enables an application with them, sets it to `PendingApproval`.',
    tags,
    permission: 'app.write',
    params: applicationParams,
    body: ApplicationReplacement,
    response: { 200: Application },
    responseHeaders: { 200: ['ETag'] },
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
      const ifMatch = readIfMatch(headers);
      const replaced = await management.replace(request, params.clientId, body, echo, ifMatch);
      return sendApplication(reply, replaced, caller.realm);
    },
  });

  route(app, {
    method: 'POST',
    url: `${collection}/:clientId/approve`,
    operationId: 'approveApplication',
    summary: 'Approve an application',
    description:
      'Ends `PendingApproval`: the application can get tokens. An administrator of the organisation ' +
      'approves all applications, a manager of a merchant those of the merchant. Send the ETag in If-Match, so ' +
      'that the approved version is the one that was read.',
    tags,
    permission: 'um.write',
    params: applicationParams,
    bodyOptional: true,
    response: { 200: Application },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'application_state', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, headers } = request;
      requireOwnDomain(caller, params);
      const approved = await management.approve(request, params.clientId, readIfMatch(headers));
      return sendApplication(reply, approved, caller.realm);
    },
  });

  route(app, {
    method: 'POST',
    url: `${collection}/:clientId/secret`,
    operationId: 'rotateClientSecret',
    summary: 'Rotate the secret of an application',
    description:
      'The old secret stops working at once; issued access tokens stay valid. Only callers with `um.write` can ' +
      'rotate the secret of an approved application with permissions for payments.',
    tags,
    permission: ['app.write', 'um.write'],
    takesIdempotencyKey: true,
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
    summary: 'Delete an application',
    description:
      'The server refuses its tokens within a minute. Its client id is never assigned again.',
    tags,
    permission: 'app.write',
    params: applicationParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { caller, params, headers } = request;
      requireOwnDomain(caller, params);
      await management.remove(request, params.clientId, readIfMatch(headers));
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
