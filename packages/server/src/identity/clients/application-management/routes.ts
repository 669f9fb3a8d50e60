// The routes of application management, version 1.
import {
  Application,
  ApplicationInput,
  ApplicationReplacement,
  applicationFilters,
  findable,
  RegisteredApplication,
  RenewedSecret,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type AuthenticatedRequest,
  readIfMatch,
  registerResourceRoutes,
  route,
  sendWithETag,
} from '../../../http/index.ts';
import type { AuditContext } from '../../infrastructure/audit-port.ts';
import { requireOwnUserDomain, userDomainIdSchema } from '../../infrastructure/own-user-domain.ts';
import type { ApplicationManagement } from './operations.ts';

const collection = '/application-management/v1/user-domains/:userDomainId/applications';
const tags = ['Applications'] as const;
/** The list cursor is a client id. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
const identifiers = {
  userDomainId: userDomainIdSchema,
  clientId: Type.String({ maxLength: 128, pattern: findable, description: 'The client id.' }),
};

function toApplicationRequest(request: AuthenticatedRequest): AuditContext {
  requireOwnUserDomain(request);
  return request;
}

export function registerApplicationRoutes(
  app: FastifyInstance,
  management: ApplicationManagement,
): void {
  registerResourceRoutes(app, {
    path: collection,
    singular: 'Application',
    plural: 'Applications',
    tags,
    // Callers with the right to approve applications may also read them.
    readPermission: ['app.read', 'um.write'],
    writePermission: 'app.write',
    identifiers,
    view: Application,
    notFoundCode: 'resource_not_found',
    scopeErrors: ['resource_not_found'],
    scope: toApplicationRequest,
    list: {
      description:
        'Sorted by client id; stable while applications are added. `status=PendingApproval` lists those ' +
        'that wait for approval.',
      filters: applicationFilters,
      cursorKey: clientIdPattern,
      run: ({ caller }, filters, page) => management.list(caller, filters, page),
    },
    get: { run: ({ caller }, clientId) => management.get(caller, clientId) },
    create: {
      description:
        'Only this response contains the client secret. A caller can assign a role only with ' +
        'the administrative permissions of the role; `PlatformOperator` cannot be assigned. With a role that has ' +
        'permissions for payments (`pay.*`) and a caller without `um.write`, the status is `PendingApproval`: ' +
        'the application gets tokens after POST …/approve.',
      body: ApplicationInput,
      view: RegisteredApplication,
      errors: ['merchant_not_found', 'store_not_found', 'entity_mismatch', 'already_exists'],
      run: management.create,
    },
    update: {
      description:
        'Missing fields get their defaults. Send the ETag in If-Match. A caller without `um.write` ' +
        'that adds permissions for payments, or enables an application with them, sets it to `PendingApproval`.',
      body: ApplicationReplacement,
      run: management.replace,
    },
    delete: {
      description:
        'The server refuses its tokens within a minute. Its client id is never assigned again.',
      run: management.remove,
    },
  });
  registerApplicationActions(app, management);
}

function registerApplicationActions(app: FastifyInstance, management: ApplicationManagement): void {
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
    params: Type.Object(identifiers),
    bodyOptional: true,
    response: { 200: Application },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'application_state', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      requireOwnUserDomain(request);
      const approved = await management.approve(request, params.clientId, readIfMatch(headers));
      return sendWithETag(reply, approved);
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
    params: Type.Object(identifiers),
    response: { 200: RenewedSecret },
    errors: ['resource_not_found'],
    async handler(request, reply) {
      const { params } = request;
      requireOwnUserDomain(request);
      const clientSecret = await management.rotateSecret(request, params.clientId);
      reply.header('cache-control', 'no-store');
      return { clientId: params.clientId, clientSecret };
    },
  });
}
