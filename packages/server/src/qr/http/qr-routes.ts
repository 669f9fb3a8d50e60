// Registers every route of the QR payments.
import { ProviderEvent, QrEventReceipt } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type EventStreams, route } from '../../http/index.ts';
import { receiveProviderEvent } from '../operations/receive-provider-event.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { registerCreatePaymentRoute } from './create-payment-route.ts';
import { registerOperationRoutes } from './operation-routes.ts';
import { registerReadRoutes } from './read-routes.ts';
import { qrBasePath, rateLimit, tags } from './shared-route-parts.ts';

export function registerQrRoutes(app: FastifyInstance, deps: QrDeps, streams: EventStreams): void {
  registerCreatePaymentRoute(app, deps);
  registerReadRoutes(app, deps, streams);
  registerOperationRoutes(app, deps);
  registerProviderEventRoute(app, deps);
}

const EventParams = Type.Object({ qrTransactionId: Type.String({ minLength: 1, maxLength: 64 }) });

function registerProviderEventRoute(app: FastifyInstance, deps: QrDeps): void {
  route(app, {
    method: 'POST',
    url: `${qrBasePath}/:qrTransactionId/events`,
    operationId: 'reportQrPaymentEvent',
    summary: 'Report an event of a QR payment as its provider',
    description:
      'For the organisation that provides the service of the payment; to everybody else there is no such payment. Answered once the event is durable: 202, and 200 for one that was here before. Unknown members and types are kept and never acted upon. What is older than an event before it, or comes after the end, changes nothing; money for a payment that has ended is refunded, and an amount that differs is held. The result says `Ignored` or `UnderReview` then.',
    tags,
    permission: 'spi.events',
    rateLimit,
    priority: 'last',
    faultOutcome: 'Unknown',
    params: EventParams,
    body: ProviderEvent,
    response: { 200: QrEventReceipt, 202: QrEventReceipt },
    errors: [
      'transaction_not_found',
      'event_limit_reached',
      'concurrent_modification',
      'database_unavailable',
    ],
    handler: async ({ caller, params, body }, reply) => {
      const event = await receiveProviderEvent(deps, caller, params.qrTransactionId, body);
      if (event.result !== 'Duplicate') reply.code(202);
      return event;
    },
  });
}
