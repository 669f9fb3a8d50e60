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
import type { DeliveryOperations } from './delivery/manage-deliveries.ts';
import type { ReplayOperations } from './delivery/replay-events.ts';
import type { EndpointCaller, Endpoints } from './endpoints/manage-endpoints.ts';

const base = '/webhooks/v1';
const tags = ['Webhooks'] as const;
const closed = { additionalProperties: false };
const endpointParameters = Type.Object({
  endpointId: Type.String({ maxLength: 64, description: 'The endpoint.' }),
});
const deliveryParameters = Type.Object({
  deliveryId: Type.String({ maxLength: 64, description: 'The delivery.' }),
});

/** An organisation manages all endpoints; a merchant manages those that it created. */
function toEndpointScope(caller: Caller): Omit<EndpointCaller, 'author'> {
  if (caller.storeId !== undefined) {
    throwProblem(
      'permission_denied',
      'Webhooks belong to an organisation or a merchant, not to a store.',
    );
  }
  return { organizationId: caller.organizationId, merchantId: merchantOf(caller) };
}

const toEndpointCaller = (
  request: FastifyRequest & { readonly caller: Caller },
): EndpointCaller => ({
  ...toEndpointScope(request.caller),
  author: actorOf(request.caller, String(request.id)),
});

function sendWithETag<View>(
  reply: FastifyReply,
  versionedView: { view: View; version: number },
): View {
  reply.header('etag', entityTag(versionedView.version));
  return versionedView.view;
}

export type WebhookOperations = {
  readonly endpoints: Endpoints;
  readonly deliveries: DeliveryOperations;
  readonly replays: ReplayOperations;
};

export function registerWebhookRoutes(app: FastifyInstance, parts: WebhookOperations): void {
  registerEndpointReadRoutes(app, parts);
  registerEndpointWriteRoutes(app, parts);
  registerEndpointActionRoutes(app, parts);
  registerDeliveryRoutes(app, parts);
}

function registerEndpointReadRoutes(app: FastifyInstance, { endpoints }: WebhookOperations): void {
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
      const foundPage = await endpoints.list(toEndpointScope(caller), page);
      return pageResponse(foundPage, query, 'listWebhookEndpoints');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'getWebhookEndpoint',
    summary: 'Get a webhook endpoint',
    tags,
    permission: 'hook.read',
    params: endpointParameters,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: ['endpoint_not_found'],
    async handler({ caller, params }, reply) {
      return sendWithETag(reply, await endpoints.get(toEndpointScope(caller), params.endpointId));
    },
  });
}

function registerEndpointWriteRoutes(app: FastifyInstance, { endpoints }: WebhookOperations): void {
  route(app, {
    method: 'POST',
    url: `${base}/endpoints`,
    operationId: 'createWebhookEndpoint',
    summary: 'Create a webhook endpoint',
    description: 'Only this response contains the secret.',
    tags,
    permission: 'hook.write',
    takesIdempotencyKey: true,
    body: WebhookEndpointInput,
    response: { 201: CreatedWebhookEndpoint },
    responseHeaders: { 201: ['ETag'] },
    errors: ['endpoint_limit_reached', 'merchant_not_found'],
    async handler(request, reply) {
      const created = await endpoints.create(toEndpointCaller(request), request.body);
      reply.code(201).header('location', `${base}/endpoints/${created.view.endpointId}`);
      reply.header('cache-control', 'no-store');
      return { ...sendWithETag(reply, created), secret: created.secret };
    },
  });

  route(app, {
    method: 'PUT',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'updateWebhookEndpoint',
    summary: 'Update a webhook endpoint',
    description:
      'When a disabled endpoint is enabled, the server sends the deliveries that were already planned. Events that occurred while it was disabled need a replay. Send the ETag as If-Match to detect concurrent changes.',
    tags,
    permission: 'hook.write',
    params: endpointParameters,
    body: WebhookEndpointReplacement,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: [
      ...(['endpoint_not_found', 'endpoint_state', 'merchant_not_found'] as const),
      ...(['field_read_only', 'precondition_failed'] as const),
    ],
    async handler(request, reply) {
      const { params, body, headers } = request;
      const caller = toEndpointCaller(request);
      return sendWithETag(
        reply,
        await endpoints.replace(caller, params.endpointId, body, readIfMatch(headers)),
      );
    },
  });

  route(app, {
    method: 'DELETE',
    url: `${base}/endpoints/:endpointId`,
    operationId: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint',
    description: 'Also deletes its deliveries, sent or not.',
    tags,
    permission: 'hook.write',
    params: endpointParameters,
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: ['endpoint_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const { params, headers } = request;
      await endpoints.remove(toEndpointCaller(request), params.endpointId, readIfMatch(headers));
      return reply.code(204).send();
    },
  });
}

function registerEndpointActionRoutes(
  app: FastifyInstance,
  { endpoints, deliveries, replays }: WebhookOperations,
): void {
  const permission = 'hook.write';
  const params = endpointParameters;
  const rateLimit = 'outgoing';

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/secret`,
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'For 24 hours the server signs with the old and the new keys. At most three rotations within that time.',
    tags,
    permission,
    params,
    takesIdempotencyKey: true,
    response: { 200: WebhookSecret },
    errors: ['endpoint_not_found', 'keys_renewed_often'],
    async handler(request, reply) {
      reply.header('cache-control', 'no-store');
      return endpoints.rotateSecret(toEndpointCaller(request), request.params.endpointId);
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/verify`,
    operationId: 'verifyWebhookEndpoint',
    summary: 'Verify a webhook endpoint',
    description:
      'Sends a signed `endpoint.challenge`; the endpoint must answer 200 with the challenge as the whole body.',
    tags,
    permission,
    params,
    rateLimit,
    response: { 200: WebhookEndpoint },
    responseHeaders: { 200: ['ETag'] },
    errors: ['endpoint_not_found', 'endpoint_state', 'endpoint_unverified'],
    async handler(request, reply) {
      return sendWithETag(
        reply,
        await endpoints.verify(toEndpointCaller(request), request.params.endpointId),
      );
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/test`,
    operationId: 'testWebhookEndpoint',
    summary: 'Test a webhook endpoint',
    description: 'Sends a test event, marked with `test`.',
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
      const {
        params: { endpointId },
        body,
      } = request;
      reply.code(202);
      return deliveries.test(toEndpointScope(request.caller), endpointId, body.type);
    },
  });

  route(app, {
    method: 'POST',
    url: `${base}/endpoints/:endpointId/replay`,
    operationId: 'replayWebhookEvents',
    summary: 'Replay events to a webhook endpoint',
    description:
      'With a time range: all events of that time, delivered or not. Without one: the events that the endpoint missed since the last acknowledged event. Each endpoint has at most one running replay.',
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
      return replays.begin(
        toEndpointScope(request.caller),
        request.params.endpointId,
        request.body,
      );
    },
  });
}

function registerDeliveryRoutes(app: FastifyInstance, { deliveries }: WebhookOperations): void {
  route(app, {
    method: 'GET',
    url: `${base}/deliveries`,
    operationId: 'listWebhookDeliveries',
    summary: 'List the webhook deliveries',
    description: 'Newest first.',
    tags,
    permission: 'hook.read',
    query: Type.Object({ ...pageQuery, ...webhookDeliveryFilters }, closed),
    response: { 200: pageOf(WebhookDelivery) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const { limit: _limit, cursor: _cursor, ...filters } = query;
      const page = readPageRequest(query, 'listWebhookDeliveries');
      const foundPage = await deliveries.list(toEndpointScope(caller), filters, page);
      return pageResponse(foundPage, query, 'listWebhookDeliveries');
    },
  });

  route(app, {
    method: 'GET',
    url: `${base}/deliveries/:deliveryId`,
    operationId: 'getWebhookDelivery',
    summary: 'Get a webhook delivery',
    description: 'Includes the attempts and the body that the server sends.',
    tags,
    permission: 'hook.read',
    params: deliveryParameters,
    response: { 200: WebhookDeliveryDetail },
    errors: ['delivery_not_found'],
    handler: ({ caller, params }) => deliveries.get(toEndpointScope(caller), params.deliveryId),
  });

  route(app, {
    method: 'POST',
    url: `${base}/deliveries/:deliveryId/resend`,
    operationId: 'resendWebhookDelivery',
    summary: 'Resend a webhook delivery',
    description: 'Sends the same identifier and body at once, and restarts the retry schedule.',
    tags,
    permission: 'hook.write',
    takesIdempotencyKey: true,
    rateLimit: 'outgoing',
    params: deliveryParameters,
    response: { 202: WebhookDelivery },
    errors: ['delivery_not_found', 'delivery_state', 'endpoint_state'],
    async handler(request, reply) {
      reply.code(202);
      return deliveries.resend(toEndpointScope(request.caller), request.params.deliveryId);
    },
  });
}
