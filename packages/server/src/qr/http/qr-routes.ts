// Registers every route of the QR payments.
import { ProviderEvent, QrEventReceipt } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type EventStreams, route } from '../../http/index.ts';
import { receiveProviderEvent } from '../operations/receive-provider-event.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { registerCreatePaymentRoute } from './create-payment-route.ts';
import { registerOperationRoutes } from './operation-routes.ts';
import { qrBasePath, rateLimit, tags } from './qr-route-parts.ts';
import { registerReadRoutes } from './read-routes.ts';

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
      'For the organisation that provides the service of the payment; all others get transaction_not_found. The server answers 202 after it has stored the event, and 200 for a duplicate. It stores unknown members and types without effect. An event that is older than an earlier one, or that comes after the end, changes nothing. The server refunds money for an ended payment, and puts a different amount under review. The result is then `Ignored` or `UnderReview`.',
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
