// Registers the routes of webhooks, version 1: endpoints, their keys and their deliveries.
import {
  BegunWebhookReplay,
  CreatedWebhookEndpoint,
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
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { actorOf } from '../audit/index.ts';
import {
  type AuthenticatedRequest,
  type Caller,
  merchantOf,
  registerResourceRoutes,
  route,
  sendWithETag,
} from '../http/index.ts';
import type { DeliveryOperations } from './delivery/manage-deliveries.ts';
import type { ReplayOperations } from './delivery/replay-events.ts';
import type { EndpointCaller, Endpoints } from './endpoints/manage-endpoints.ts';

const base = '/webhooks/v1';
const tags = ['Webhooks'] as const;
const endpointIdentifiers = {
  endpointId: Type.String({ maxLength: 64, description: 'The endpoint.' }),
};
const deliveryIdentifiers = {
  deliveryId: Type.String({ maxLength: 64, description: 'The delivery.' }),
};

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

const toEndpointCaller = (request: AuthenticatedRequest): EndpointCaller => ({
  ...toEndpointScope(request.caller),
  author: actorOf(request.caller, String(request.id)),
});

export type WebhookOperations = {
  readonly endpoints: Endpoints;
  readonly deliveries: DeliveryOperations;
  readonly replays: ReplayOperations;
};

export function registerWebhookRoutes(app: FastifyInstance, parts: WebhookOperations): void {
  registerEndpointRoutes(app, parts);
  registerEndpointActionRoutes(app, parts);
  registerDeliveryRoutes(app, parts);
}

function registerEndpointRoutes(app: FastifyInstance, { endpoints }: WebhookOperations): void {
  registerResourceRoutes(app, {
    path: `${base}/endpoints`,
    singular: 'WebhookEndpoint',
    plural: 'WebhookEndpoints',
    tags,
    readPermission: 'hook.read',
    writePermission: 'hook.write',
    identifiers: endpointIdentifiers,
    view: WebhookEndpoint,
    notFoundCode: 'endpoint_not_found',
    scope: toEndpointCaller,
    list: { run: (caller, _filters, page) => endpoints.list(caller, page) },
    get: { run: endpoints.get },
    create: {
      description: 'Only this response contains the secret.',
      body: WebhookEndpointInput,
      view: CreatedWebhookEndpoint,
      errors: ['endpoint_limit_reached', 'merchant_not_found'],
      async run(caller, input) {
        const { view, version, secret } = await endpoints.create(caller, input);
        return { view: { ...view, secret }, version };
      },
    },
    update: {
      description:
        'When a disabled endpoint is enabled, the server sends the deliveries that were already planned. Events that occurred while it was disabled need a replay. Send the ETag as If-Match to detect concurrent changes.',
      body: WebhookEndpointReplacement,
      errors: ['endpoint_state', 'merchant_not_found'],
      run: endpoints.replace,
    },
    delete: { description: 'Also deletes its deliveries, sent or not.', run: endpoints.remove },
  });
}

function registerEndpointActionRoutes(
  app: FastifyInstance,
  { endpoints, deliveries, replays }: WebhookOperations,
): void {
  const permission = 'hook.write';
  const params = Type.Object(endpointIdentifiers);
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
  registerResourceRoutes(app, {
    path: `${base}/deliveries`,
    singular: 'WebhookDelivery',
    plural: 'WebhookDeliveries',
    tags,
    readPermission: 'hook.read',
    identifiers: deliveryIdentifiers,
    view: WebhookDelivery,
    notFoundCode: 'delivery_not_found',
    scope: ({ caller }) => toEndpointScope(caller),
    list: {
      description: 'Newest first.',
      filters: webhookDeliveryFilters,
      run: deliveries.list,
    },
    get: {
      description: 'Includes the attempts and the body that the server sends.',
      view: WebhookDeliveryDetail,
      run: async (scope, id) => ({ view: await deliveries.get(scope, id) }),
    },
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
    params: Type.Object(deliveryIdentifiers),
    response: { 202: WebhookDelivery },
    errors: ['delivery_not_found', 'delivery_state', 'endpoint_state'],
    async handler(request, reply) {
      reply.code(202);
      return deliveries.resend(toEndpointScope(request.caller), request.params.deliveryId);
    },
  });
}
