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
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import {
  entityTag,
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
} from '../../http/index.ts';
import { readAuthoredScope, readCallerScope } from '../infrastructure/caller-scope.ts';
import type { Services } from './services.ts';

const base = '/service-catalog/v1/services';
const tags = ['Service catalogue'] as const;
const readPermissions = ['svc.read', 'sub.read', 'conf.read'] as const;
const serviceParams = Type.Object({
  serviceId: Type.String({ maxLength: 64, description: 'The service.' }),
});
/** A release number, which is the cursor of the list of releases. */
const releasePattern = /^[1-9][0-9]{0,8}$/;

function sendWithETag(
  reply: FastifyReply,
  versionedService: { view: Service; version: number },
): Service {
  reply.header('etag', entityTag(versionedService.version));
  return versionedService.view;
}

export function registerServiceRoutes(app: FastifyInstance, services: Services): void {
  registerReads(app, services);
  registerChanges(app, services);
  registerLifecycleSteps(app, services);
}

function registerReads(app: FastifyInstance, services: Services): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listServices',
    summary: 'List the services',
    description:
      'The published services of all organisations and the drafts of the caller, without logos and ' +
      'defaults.',
    tags,
    permission: readPermissions,
    query: Type.Object({ ...pageQuery, ...serviceFilters }, { additionalProperties: false }),
    response: { 200: pageOf(Service) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listServices');
      return pageResponse(
        await services.list(readCallerScope(caller), query, page),
        query,
        'listServices',
      );
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/:serviceId`,
    operationId: 'getService',
    summary: 'Get a service',
    description: 'The provider gets the draft; other organisations get the last published release.',
    tags,
    permission: readPermissions,
    params: serviceParams,
    response: { 200: Service },
    responseHeaders: { 200: ['ETag'] },
    errors: ['service_not_found'],
    async handler({ caller, params }, reply) {
      return sendWithETag(reply, await services.get(readCallerScope(caller), params.serviceId));
    },
  });

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

function registerChanges(app: FastifyInstance, services: Services): void {
  route(app, {
    method: 'POST',
    url: base,
    operationId: 'createService',
    summary: 'Create a service',
    description:
      'Creates a draft. Only this response contains the secret that signs the calls to the ' +
      'provider.',
    tags,
    permission: 'svc.write',
    takesIdempotencyKey: true,
    body: ServiceInput,
    response: { 201: ServiceWithSecret },
    responseHeaders: { 201: ['ETag'] },
    errors: [],
    async handler(request, reply) {
      const created = await services.create(readAuthoredScope(request), request.body);
      reply.code(201).header('location', `${base}/${created.view.serviceId}`);
      reply.header('cache-control', 'no-store');
      const { signingSecret, verificationKey } = created;
      return { ...sendWithETag(reply, created), signingSecret, verificationKey };
    },
  });

  route(app, {
    method: 'PUT',
    url: `${base}/:serviceId`,
    operationId: 'updateService',
    summary: 'Update a service',
    description:
      'Changes the draft; other organisations see the change after publication. Send the ETag in ' +
      'If-Match.',
    tags,
    permission: 'svc.write',
    params: serviceParams,
    body: ServiceReplacement,
    response: { 200: Service },
    responseHeaders: { 200: ['ETag'] },
    errors: ['service_not_found', 'service_state', 'field_read_only', 'precondition_failed'],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const scope = readAuthoredScope(request);
      return sendWithETag(
        reply,
        await services.replace(scope, params.serviceId, body, readIfMatch(headers)),
      );
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${base}/:serviceId`,
    operationId: 'deleteService',
    summary: 'Delete a service',
    description: 'Only a draft can be deleted; retire a published service instead.',
    tags,
    permission: 'svc.write',
    params: serviceParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['service_not_found', 'service_state', 'precondition_failed'],
    async handler(request, reply) {
      await services.remove(
        readAuthoredScope(request),
        request.params.serviceId,
        readIfMatch(request.headers),
      );
      return reply.code(204).send();
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
        const scope = readAuthoredScope(request);
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
      const credentials = await services.rotateSecret(readAuthoredScope(request), serviceId);
      reply.header('cache-control', 'no-store');
      return { serviceId, ...credentials };
    },
  });
}
