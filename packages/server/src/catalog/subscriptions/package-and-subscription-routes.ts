// HTTP routes for packages and subscriptions.
import {
  pageOf,
  ServicePackage,
  ServicePackageInput,
  ServicePackageReplacement,
  Subscription,
  SubscriptionInput,
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
import type { PackagesAndSubscriptions } from './packages-and-subscriptions.ts';

const packagesUrl = '/service-catalog/v1/packages';
const subscriptionsUrl = '/service-catalog/v1/subscriptions';
const tags = ['Service catalogue'] as const;
const pageParams = Type.Object(pageQuery, { additionalProperties: false });
const packageParams = Type.Object({
  packageId: Type.String({ maxLength: 64, description: 'The package.' }),
});
const subscriptionParams = Type.Object({
  subscriptionId: Type.String({ maxLength: 64, description: 'The subscription.' }),
});

function sendWithETag(
  reply: FastifyReply,
  versionedPackage: { view: ServicePackage; version: number },
): ServicePackage {
  reply.header('etag', entityTag(versionedPackage.version));
  return versionedPackage.view;
}

export function registerPackageAndSubscriptionRoutes(
  app: FastifyInstance,
  packagesAndSubscriptions: PackagesAndSubscriptions,
): void {
  registerPackageReads(app, packagesAndSubscriptions);
  registerPackageChanges(app, packagesAndSubscriptions);
  registerSubscriptions(app, packagesAndSubscriptions);
}

function registerPackageReads(
  app: FastifyInstance,
  packagesAndSubscriptions: PackagesAndSubscriptions,
): void {
  route(app, {
    method: 'GET',
    url: packagesUrl,
    operationId: 'listServicePackages',
    summary: 'List the service packages',
    tags,
    permission: 'sub.read',
    query: pageParams,
    response: { 200: pageOf(ServicePackage) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listServicePackages');
      const resultPage = await packagesAndSubscriptions.listPackages(readCallerScope(caller), page);
      return pageResponse(resultPage, query, 'listServicePackages');
    },
  });

  route(app, {
    method: 'GET',
    url: `${packagesUrl}/:packageId`,
    operationId: 'getServicePackage',
    summary: 'Get a service package',
    tags,
    permission: 'sub.read',
    params: packageParams,
    response: { 200: ServicePackage },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found'],
    async handler({ caller, params }, reply) {
      return sendWithETag(
        reply,
        await packagesAndSubscriptions.getPackage(readCallerScope(caller), params.packageId),
      );
    },
  });
}

function registerPackageChanges(
  app: FastifyInstance,
  packagesAndSubscriptions: PackagesAndSubscriptions,
): void {
  route(app, {
    method: 'POST',
    url: packagesUrl,
    operationId: 'createServicePackage',
    summary: 'Create a service package',
    tags,
    permission: 'sub.write',
    takesIdempotencyKey: true,
    body: ServicePackageInput,
    response: { 201: ServicePackage },
    responseHeaders: { 201: ['ETag'] },
    errors: ['service_not_found'],
    async handler(request, reply) {
      const created = await packagesAndSubscriptions.createPackage(
        readAuthoredScope(request),
        request.body,
      );
      reply.code(201).header('location', `${packagesUrl}/${created.view.packageId}`);
      return sendWithETag(reply, created);
    },
  });

  route(app, {
    method: 'PUT',
    url: `${packagesUrl}/:packageId`,
    operationId: 'updateServicePackage',
    summary: 'Update a service package',
    description: 'A service that is active only through this package cannot be removed from it.',
    tags,
    permission: 'sub.write',
    params: packageParams,
    body: ServicePackageReplacement,
    response: { 200: ServicePackage },
    responseHeaders: { 200: ['ETag'] },
    errors: [
      'resource_not_found',
      'service_not_found',
      'has_dependants',
      'field_read_only',
      'precondition_failed',
    ],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const ifMatch = readIfMatch(headers);
      return sendWithETag(
        reply,
        await packagesAndSubscriptions.replacePackage(
          readAuthoredScope(request),
          params.packageId,
          body,
          ifMatch,
        ),
      );
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${packagesUrl}/:packageId`,
    operationId: 'deleteServicePackage',
    summary: 'Delete a service package',
    description: 'The platform rejects the request while the package has a subscription.',
    tags,
    permission: 'sub.write',
    params: packageParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'has_dependants', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await packagesAndSubscriptions.removePackage(
        readAuthoredScope(request),
        params.packageId,
        readIfMatch(headers),
      );
      return reply.code(204).send();
    },
  });
}

function registerSubscriptions(
  app: FastifyInstance,
  packagesAndSubscriptions: PackagesAndSubscriptions,
): void {
  route(app, {
    method: 'GET',
    url: subscriptionsUrl,
    operationId: 'listSubscriptions',
    summary: 'List the subscriptions',
    tags,
    permission: 'sub.read',
    query: pageParams,
    response: { 200: pageOf(Subscription) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listSubscriptions');
      const resultPage = await packagesAndSubscriptions.listSubscriptions(
        readCallerScope(caller),
        page,
      );
      return pageResponse(resultPage, query, 'listSubscriptions');
    },
  });

  route(app, {
    method: 'GET',
    url: `${subscriptionsUrl}/:subscriptionId`,
    operationId: 'getSubscription',
    summary: 'Get a subscription',
    tags,
    permission: 'sub.read',
    params: subscriptionParams,
    response: { 200: Subscription },
    errors: ['resource_not_found'],
    async handler({ caller, params }) {
      return packagesAndSubscriptions.getSubscription(
        readCallerScope(caller),
        params.subscriptionId,
      );
    },
  });

  route(app, {
    method: 'POST',
    url: subscriptionsUrl,
    operationId: 'createSubscription',
    summary: 'Create a subscription',
    description:
      'Only an organisation subscribes; merchants, stores and devices activate services.',
    tags,
    permission: 'sub.write',
    takesIdempotencyKey: true,
    body: SubscriptionInput,
    response: { 201: Subscription },
    errors: ['resource_not_found', 'service_state', 'already_exists'],
    async handler(request, reply) {
      const created = await packagesAndSubscriptions.subscribe(
        readAuthoredScope(request),
        request.body.packageId,
      );
      reply.code(201).header('location', `${subscriptionsUrl}/${created.subscriptionId}`);
      return created;
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${subscriptionsUrl}/:subscriptionId`,
    operationId: 'deleteSubscription',
    summary: 'Delete a subscription',
    description:
      'The platform rejects the request while a service that only this subscription provides is ' +
      'active for the organisation.',
    tags,
    permission: 'sub.write',
    params: subscriptionParams,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'has_dependants'],
    async handler(request, reply) {
      await packagesAndSubscriptions.unsubscribe(
        readAuthoredScope(request),
        request.params.subscriptionId,
      );
      return reply.code(204).send();
    },
  });
}
