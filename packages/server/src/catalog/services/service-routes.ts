// HTTP routes for services: providers declare them, and every organisation reads them.
import {
  pageOf,
  RenewedSigningSecret,
  Service,
  ServiceInput,
  ServiceRelease,
  ServiceReplacement,
  ServiceWithSecret,
  serviceFilters,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  registerResourceRoutes,
  route,
  sendWithETag,
} from '../../http/index.ts';
import { readCallerScope, readScopeAndAuthor } from '../infrastructure/caller-scope.ts';
import type { Services } from './services.ts';

const base = '/service-catalog/v1/services';
const tags = ['Service catalogue'] as const;
const readPermissions = ['svc.read', 'sub.read', 'conf.read'] as const;
const identifiers = { serviceId: Type.String({ maxLength: 64, description: 'The service.' }) };
const serviceParams = Type.Object(identifiers);
/** A release number, which is the cursor of the list of releases. */
const releasePattern = /^[1-9][0-9]{0,8}$/;

export function registerServiceRoutes(app: FastifyInstance, services: Services): void {
  registerDeclarationRoutes(app, services);
  registerReleaseRoute(app, services);
  registerLifecycleSteps(app, services);
}

function registerDeclarationRoutes(app: FastifyInstance, services: Services): void {
  registerResourceRoutes(app, {
    path: base,
    singular: 'Service',
    plural: 'Services',
    tags,
    readPermission: readPermissions,
    writePermission: 'svc.write',
    identifiers,
    view: Service,
    notFoundCode: 'service_not_found',
    scope: readScopeAndAuthor,
    list: {
      description:
        'The published services of all organisations and the drafts of the caller, without logos and ' +
        'defaults.',
      filters: serviceFilters,
      run: services.list,
    },
    get: {
      description:
        'The provider gets the draft; other organisations get the last published release.',
      run: services.get,
    },
    create: {
      description:
        'Creates a draft. Only this response contains the secret that signs the calls to the ' +
        'provider.',
      body: ServiceInput,
      view: ServiceWithSecret,
      async run(scope, input) {
        const { view, version, ...credentials } = await services.create(scope, input);
        return { view: { ...view, ...credentials }, version };
      },
    },
    update: {
      description:
        'Changes the draft; other organisations see the change after publication. Send the ETag in ' +
        'If-Match.',
      body: ServiceReplacement,
      errors: ['service_state'],
      run: services.replace,
    },
    delete: {
      description: 'Only a draft can be deleted; retire a published service instead.',
      errors: ['service_state'],
      run: services.remove,
    },
  });
}

function registerReleaseRoute(app: FastifyInstance, services: Services): void {
  route(app, {
    method: 'GET',
    url: `${base}/:serviceId/releases`,
    operationId: 'listServiceReleases',
    summary: 'List the releases of a service',
    description: 'Newest first.',
    tags,
    permission: readPermissions,
    params: serviceParams,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: pageOf(ServiceRelease) },
    errors: ['service_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const list = `releases of ${params.serviceId}`;
      const page = readPageRequest(query, list, releasePattern);
      return pageResponse(
        await services.listReleases(readCallerScope(caller), params.serviceId, page),
        query,
        list,
      );
    },
  });
}

const lifecycleSteps = {
  publish: {
    summary: 'Publish a service',
    description: 'Publishes the draft as a new release that every organisation sees.',
  },
  retire: {
    summary: 'Retire a service',
    description:
      'No organisation can activate the service any more; existing activations stay active.',
  },
} as const;

function registerLifecycleSteps(app: FastifyInstance, services: Services): void {
  for (const step of ['publish', 'retire'] as const) {
    route(app, {
      method: 'POST',
      url: `${base}/:serviceId/${step}`,
      operationId: `${step}Service`,
      ...lifecycleSteps[step],
      tags,
      permission: 'svc.write',
      params: serviceParams,
      response: { 200: Service },
      responseHeaders: { 200: ['ETag'] },
      errors: ['service_not_found', 'service_state', 'precondition_failed'],
      async handler(request, reply) {
        const { params, headers } = request;
        const scope = readScopeAndAuthor(request);
        return sendWithETag(
          reply,
          await services[step](scope, params.serviceId, readIfMatch(headers)),
        );
      },
    });
  }

  route(app, {
    method: 'POST',
    url: `${base}/:serviceId/secret`,
    operationId: 'rotateServiceSecret',
    summary: 'Rotate the signing secret of a service',
    description:
      'For 24 hours, calls carry the signatures of the new and the previous secret. At most three ' +
      'previous secrets are in use at once.',
    tags,
    permission: 'svc.write',
    takesIdempotencyKey: true,
    params: serviceParams,
    response: { 200: RenewedSigningSecret },
    errors: ['service_not_found', 'keys_renewed_often'],
    async handler(request, reply) {
      const { serviceId } = request.params;
      const credentials = await services.rotateSecret(readScopeAndAuthor(request), serviceId);
      reply.header('cache-control', 'no-store');
      return { serviceId, ...credentials };
    },
  });
}
