// Registers every route of the QR payments.
import { ProviderEvent, QrEventReceipt } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type EventStreams, route } from '../../http/index.ts';
import { takeEvent } from '../operations/receive-provider-event.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { registerCreate } from './create-payment-route.ts';
import { registerOperations } from './operation-routes.ts';
import { registerReads } from './read-routes.ts';
import { base, rateLimit, tags } from './shared-route-parts.ts';

export function registerQrRoutes(app: FastifyInstance, deps: QrDeps, streams: EventStreams): void {
  registerCreate(app, deps);
  registerReads(app, deps, streams);
  registerOperations(app, deps);
  registerIntake(app, deps);
}

const ByEvent = Type.Object({ qrTransactionId: Type.String({ minLength: 1, maxLength: 64 }) });

function registerIntake(app: FastifyInstance, deps: QrDeps): void {
  route(app, {
    method: 'POST',
    url: `${base}/:qrTransactionId/events`,
    operationId: 'reportQrPaymentEvent',
    summary: 'Report an event of a QR payment as its provider',
    description:
      'For the organisation that provides the service of the payment; to everybody else there is no such payment. Answered once the event is durable: 202, and 200 for one that was here before. Unknown members and types are kept and never acted upon. What is older than an event before it, or comes after the end, changes nothing; money for a payment that has ended is refunded, and an amount that differs is held. The result says `Ignored` or `UnderReview` then.',
    tags,
    permission: 'spi.events',
    rateLimit,
    priority: 'last',
    faultOutcome: 'Unknown',
    params: ByEvent,
    body: ProviderEvent,
    response: { 200: QrEventReceipt, 202: QrEventReceipt },
    errors: [
      'transaction_not_found',
      'event_limit_reached',
      'concurrent_modification',
      'database_unavailable',
    ],
    handler: async ({ caller, params, body }, reply) => {
      const event = await takeEvent(deps, caller, params.qrTransactionId, body);
      if (event.result !== 'Duplicate') reply.code(202);
      return event;
    },
  });
}
