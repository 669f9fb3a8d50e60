// Registers the routes of webhooks, version 1: endpoints, their keys and their deliveries.
import {
  BegunWebhookReplay,
  CreatedWebhookEndpoint,
  pageOf,
  throwProblem,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookEndpoint,
  WebhookEndpointInput,
  WebhookEndpointReplacement,
  WebhookReplay,
  WebhookSecret,
  WebhookTest,
  webhookDeliveryFilters,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { actorOf } from '../audit/index.ts';
import {
  type Caller,
  entityTag,
  merchantOf,
  pageQuery,
  pageResponse,
  readIfMatch,
  readPageRequest,
  route,
} from '../http/index.ts';
import type { Deliveries } from './delivery/manage-deliveries.ts';
import type { Replays } from './delivery/replay-events.ts';
import type { By, Endpoints } from './endpoints/manage-endpoints.ts';

const base = '/webhooks/v1';
const tags = ['Webhooks'] as const;
const closed = { additionalProperties: false };
const ofEndpoint = Type.Object({
  endpointId: Type.String({ maxLength: 64, description: 'The endpoint.' }),
});
const ofDelivery = Type.Object({
  deliveryId: Type.String({ maxLength: 64, description: 'The delivery.' }),
});

/** An organisation manages all endpoints; a merchant manages those that it created. */
function scopeOf(caller: Caller): Omit<By, 'author'> {
  if (caller.storeId !== undefined) {
    throwProblem(
      'permission_denied',
      'Webhooks belong to an organisation or a merchant, not to a store.',
    );
  }
  return { organizationId: caller.organizationId, merchantId: merchantOf(caller) };
}

const byOf = (request: FastifyRequest & { readonly caller: Caller }): By => ({
  ...scopeOf(request.caller),
  author: actorOf(request.caller, String(request.id)),
});

function send<View>(reply: FastifyReply, found: { view: View; version: number }): View {
  reply.header('etag', entityTag(found.version));
  return found.view;
}

export type Parts = {
  readonly endpoints: Endpoints;
  readonly deliveries: Deliveries;
  readonly replays: Replays;
};

export function registerWebhooks(app: FastifyInstance, parts: Parts): void {
  registerReads(app, parts);
  registerChanges(app, parts);
  registerSteps(app, parts);
  registerDeliveries(app, parts);
}

function registerReads(app: FastifyInstance, { endpoints }: Parts): void {
  route(app, {
    method: 'GET',
    url: `${base}/endpoints`,
    operationId: 'listWebhookEndpoints',
    summary: 'List the webhook endpoints',
    tags,
    permission: 'hook.read',
    query: Type.Object(pageQuery, closed),
    response: { 200: pageOf(WebhookEndpoint) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listWebhookEndpoints');
      const found = await endpoints.list(scopeOf(caller), page);
      return pageResponse(found, query, 'listWebhookEndpoints');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'getWebhookEndpoint',
    summary: 'Get a webhook endpoint',
    tags,
    permission: 'hook.read',
    params: ofEndpoint,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: ['endpoint_not_found'],
    async handler({ caller, params }, reply) {
      return send(reply, await endpoints.get(scopeOf(caller), params.endpointId));
    },
  });
}

function registerChanges(app: FastifyInstance, { endpoints }: Parts): void {
  route(app, {
    method: 'POST',
    url: `${base}/endpoints`,
    operationId: 'createWebhookEndpoint',
    summary: 'Create a webhook endpoint',
    description: 'The answer holds the secret, this once.',
    tags,
    permission: 'hook.write',
    takesIdempotencyKey: true,
    body: WebhookEndpointInput,
    response: { 201: CreatedWebhookEndpoint },
    responseHeaders: { 201: ['ETag'] },
    errors: ['endpoint_limit_reached', 'merchant_not_found'],
    async handler(request, reply) {
      const made = await endpoints.create(byOf(request), request.body);
      reply.code(201).header('location', `${base}/endpoints/${made.view.endpointId}`);
      reply.header('cache-control', 'no-store');
      return { ...send(reply, made), secret: made.secret };
    },
  });

  route(app, {
    method: 'PUT',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'updateWebhookEndpoint',
    summary: 'Update a webhook endpoint',
    description:
      'What was planned for a disabled endpoint goes out once it is enabled; what happened meanwhile is replayed on demand. If-Match takes the ETag.',
    tags,
    permission: 'hook.write',
    params: ofEndpoint,
    body: WebhookEndpointReplacement,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: [
      ...(['endpoint_not_found', 'endpoint_state', 'merchant_not_found'] as const),
      ...(['field_read_only', 'precondition_failed'] as const),
    ],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const by = byOf(request);
      return send(
        reply,
        await endpoints.replace(by, params.endpointId, body, readIfMatch(headers)),
      );
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint',
    description: 'With its deliveries, sent or not.',
    tags,
    permission: 'hook.write',
    params: ofEndpoint,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['endpoint_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await endpoints.remove(byOf(request), params.endpointId, readIfMatch(headers));
      return reply.code(204).send();
    },
  });
}

function registerSteps(app: FastifyInstance, { endpoints, deliveries, replays }: Parts): void {
  const permission = 'hook.write';
  const params = ofEndpoint;
  const rateLimit = 'outgoing';

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/secret`,
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'For 24 hours the old keys sign too, beside the new ones; three times at the most.',
    tags,
    permission,
    params,
    takesIdempotencyKey: true,
    response: { 200: WebhookSecret },
    errors: ['endpoint_not_found', 'keys_renewed_often'],
    async handler(request, reply) {
      reply.header('cache-control', 'no-store');
      return endpoints.renewSecret(byOf(request), request.params.endpointId);
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/verify`,
    operationId: 'verifyWebhookEndpoint',
    summary: 'Verify a webhook endpoint',
    description:
      'Sends a signed `endpoint.challenge`; the endpoint answers 200 with the challenge as the whole body.',
    tags,
    permission,
    params,
    rateLimit,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: ['endpoint_not_found', 'endpoint_state', 'endpoint_unverified'],
    async handler(request, reply) {
      return send(reply, await endpoints.verify(byOf(request), request.params.endpointId));
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/test`,
    operationId: 'testWebhookEndpoint',
    summary: 'Test a webhook endpoint',
    description: 'Sends an event that has not happened, marked with `test`.',
    tags,
    permission,
    params,
    rateLimit,
    takesIdempotencyKey: true,
    body: WebhookTest,
    bodyOptional: true,
    response: { 202: WebhookDelivery },
    errors: ['endpoint_not_found', 'endpoint_state'],
    async handler(request, reply) {
      const { params: of, body } = request;
      reply.code(202);
      return deliveries.test(scopeOf(request.caller), of.endpointId, body.type);
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/replay`,
    operationId: 'replayWebhookEvents',
    summary: 'Replay events to a webhook endpoint',
    description:
      'With a time all events of it, delivered or not; without one those that were missed since the last acknowledged one. One replay of an endpoint runs at a time.',
    tags,
    permission,
    params,
    rateLimit,
    takesIdempotencyKey: true,
    body: WebhookReplay,
    bodyOptional: true,
    response: { 202: BegunWebhookReplay },
    errors: ['endpoint_not_found', 'endpoint_state', 'replay_running'],
    async handler(request, reply) {
      reply.code(202);
      return replays.begin(scopeOf(request.caller), request.params.endpointId, request.body);
    },
  });
}

function registerDeliveries(app: FastifyInstance, { deliveries }: Parts): void {
  route(app, {
    method: 'GET',
    url: `${base}/deliveries`,
    operationId: 'listWebhookDeliveries',
    summary: 'List the webhook deliveries',
    description: 'The newest first.',
    tags,
    permission: 'hook.read',
    query: Type.Object({ ...pageQuery, ...webhookDeliveryFilters }, closed),
    response: { 200: pageOf(WebhookDelivery) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = readPageRequest(query, 'listWebhookDeliveries');
      const found = await deliveries.list(scopeOf(caller), filters, page);
      return pageResponse(found, query, 'listWebhookDeliveries');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/deliveries/:deliveryId`,
    operationId: 'getWebhookDelivery',
    summary: 'Get a webhook delivery',
    description: 'With its tries, and the bytes that are sent.',
    tags,
    permission: 'hook.read',
    params: ofDelivery,
    response: { 200: WebhookDeliveryDetail },
    errors: ['delivery_not_found'],
    handler: ({ caller, params }) => deliveries.get(scopeOf(caller), params.deliveryId),
  });

  route(app, {
    method: 'POST',
    url: `${base}/deliveries/:deliveryId/resend`,
    operationId: 'resendWebhookDelivery',
    summary: 'Resend a webhook delivery',
    description: 'The same identifier and bytes, at once and with the whole schedule before it.',
    tags,
    permission: 'hook.write',
    takesIdempotencyKey: true,
    rateLimit: 'outgoing',
    params: ofDelivery,
    response: { 202: WebhookDelivery },
    errors: ['delivery_not_found', 'delivery_state', 'endpoint_state'],
    async handler(request, reply) {
      reply.code(202);
      return deliveries.resend(scopeOf(request.caller), request.params.deliveryId);
    },
  });
}
