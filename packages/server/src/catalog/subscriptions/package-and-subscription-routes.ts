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
import { byOf, scopeOf } from '../infrastructure/caller-scope.ts';
import type { Offers } from './packages-and-subscriptions.ts';

const packages = '/service-catalog/v1/packages';
const subscriptions = '/service-catalog/v1/subscriptions';
const tags = ['Service catalogue'] as const;
const pages = Type.Object(pageQuery, { additionalProperties: false });
const ofPackage = Type.Object({
  packageId: Type.String({ maxLength: 64, description: 'The package.' }),
});
const ofSubscription = Type.Object({
  subscriptionId: Type.String({ maxLength: 64, description: 'The subscription.' }),
});

function send(
  reply: FastifyReply,
  found: { view: ServicePackage; version: number },
): ServicePackage {
  reply.header('etag', entityTag(found.version));
  return found.view;
}

export function registerOffers(app: FastifyInstance, offers: Offers): void {
  registerPackageReads(app, offers);
  registerPackageChanges(app, offers);
  registerSubscriptions(app, offers);
}

function registerPackageReads(app: FastifyInstance, offers: Offers): void {
  route(app, {
    method: 'GET',
    url: packages,
    operationId: 'listServicePackages',
    summary: 'List the service packages',
    tags,
    permission: 'sub.read',
    query: pages,
    response: { 200: pageOf(ServicePackage) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listServicePackages');
      const found = await offers.listPackages(scopeOf(caller), page);
      return pageResponse(found, query, 'listServicePackages');
    },
  });

  route(app, {
    method: 'GET',
    url: `${packages}/:packageId`,
    operationId: 'getServicePackage',
    summary: 'Get a service package',
    tags,
    permission: 'sub.read',
    params: ofPackage,
    response: { 200: ServicePackage },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found'],
    async handler({ caller, params }, reply) {
      return send(reply, await offers.getPackage(scopeOf(caller), params.packageId));
    },
  });
}

function registerPackageChanges(app: FastifyInstance, offers: Offers): void {
  route(app, {
    method: 'POST',
    url: packages,
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
      const made = await offers.createPackage(byOf(request), request.body);
      reply.code(201).header('location', `${packages}/${made.view.packageId}`);
      return send(reply, made);
    },
  });

  route(app, {
    method: 'PUT',
    url: `${packages}/:packageId`,
    operationId: 'updateServicePackage',
    summary: 'Update a service package',
    description: 'A service that is active through the package alone stays in it.',
    tags,
    permission: 'sub.write',
    params: ofPackage,
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
      return send(
        reply,
        await offers.replacePackage(byOf(request), params.packageId, body, ifMatch),
      );
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${packages}/:packageId`,
    operationId: 'deleteServicePackage',
    summary: 'Delete a service package',
    description: 'Refused while it is subscribed.',
    tags,
    permission: 'sub.write',
    params: ofPackage,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'has_dependants', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await offers.removePackage(byOf(request), params.packageId, readIfMatch(headers));
      return reply.code(204).send();
    },
  });
}

function registerSubscriptions(app: FastifyInstance, offers: Offers): void {
  route(app, {
    method: 'GET',
    url: subscriptions,
    operationId: 'listSubscriptions',
    summary: 'List the subscriptions',
    tags,
    permission: 'sub.read',
    query: pages,
    response: { 200: pageOf(Subscription) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listSubscriptions');
      const found = await offers.listSubscriptions(scopeOf(caller), page);
      return pageResponse(found, query, 'listSubscriptions');
    },
  });

  route(app, {
    method: 'GET',
    url: `${subscriptions}/:subscriptionId`,
    operationId: 'getSubscription',
    summary: 'Get a subscription',
    tags,
    permission: 'sub.read',
    params: ofSubscription,
    response: { 200: Subscription },
    errors: ['resource_not_found'],
    async handler({ caller, params }) {
      return offers.getSubscription(scopeOf(caller), params.subscriptionId);
    },
  });

  route(app, {
    method: 'POST',
    url: subscriptions,
    operationId: 'createSubscription',
    summary: 'Create a subscription',
    description: 'Nothing below the organisation subscribes; services are activated there.',
    tags,
    permission: 'sub.write',
    takesIdempotencyKey: true,
    body: SubscriptionInput,
    response: { 201: Subscription },
    errors: ['resource_not_found', 'service_state', 'already_exists'],
    async handler(request, reply) {
      const made = await offers.subscribe(byOf(request), request.body.packageId);
      reply.code(201).header('location', `${subscriptions}/${made.subscriptionId}`);
      return made;
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${subscriptions}/:subscriptionId`,
    operationId: 'deleteSubscription',
    summary: 'Delete a subscription',
    description: 'Refused while a service that it alone brings is active for the organisation.',
    tags,
    permission: 'sub.write',
    params: ofSubscription,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['resource_not_found', 'has_dependants'],
    async handler(request, reply) {
      await offers.unsubscribe(byOf(request), request.params.subscriptionId);
      return reply.code(204).send();
    },
  });
}
