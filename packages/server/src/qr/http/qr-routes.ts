// Registers every route of the QR payments.
import {
  defined,
  ProviderEvent,
  QrEventReceipt,
  QrRequest,
  QrTransaction,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  acceptedHeaders,
  type EventStreams,
  paymentIdempotencyHeaders,
  resolveClientTransactionId,
  respondAccepted,
  respondAcceptedAgain,
  route,
  setReplayedHeader,
} from '../../http/index.ts';
import { withUnknownOutcome } from '../../platform/index.ts';
import { createPayment } from '../operations/create-payment.ts';
import { receiveProviderEvent } from '../operations/receive-provider-event.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { transactionDetails } from '../transaction/conflict-details.ts';
import { isAnswered, viewPayment } from '../transaction/payment-views.ts';
import { registerOperationRoutes } from './operation-routes.ts';
import { paymentLocation, qrBasePath, rateLimit, tags } from './qr-route-parts.ts';
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
      'For the organisation that provides the service of the payment; all others get transaction_not_found. The server answers 202 after it has stored the event, and 200 for a duplicate. It stores unknown members and types without effect. An event with a lower sequence than an earlier one, or after the end of the payment, changes nothing: `Ignored`. A completion of an ended payment with nothing paid is an exception: `Stored`. The server refunds the money; if the sequence is lower, it first cancels the payment, and refunds only if the provider answers that it was paid. The server puts a different amount under review: `UnderReview`.',
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

const examples: Readonly<Record<string, QrRequest>> = {
  'The consumer scans the terminal': {
    paymentType: 'demopay',
    paymentScenario: 'consumerscan',
    clientTransactionId: 'b3c9f1de-8b14-4a42-9c33-6a6b2b0f4a11',
    paymentAmount: { amount: 1050, currency: 'EUR' },
    order: {
      orderId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
      orderDescription: 'Table 12',
    },
  },
  'The terminal scans the consumer': {
    paymentType: 'demopay',
    paymentScenario: 'merchantscan',
    scannedPaymentId: '281234567890123456',
    clientTransactionId: '6d0f4a0e-1f54-4a9b-8c39-0f3f8b6f2c77',
    paymentAmount: { amount: 2500, currency: 'EUR' },
  },
};

function registerCreatePaymentRoute(app: FastifyInstance, deps: QrDeps): void {
  route(app, {
    method: 'POST',
    url: qrBasePath,
    operationId: 'createQrPayment',
    summary: 'Create a QR payment',
    description:
      'Requires the token of a device. The server calls the provider of the payment type and returns the display for the consumer. If the provider answers later, the answer is 202 without `display`, and an event delivers it. A decline is not an error: the answer is 200 with the payment. A repeated request with the same clientTransactionId gets the first status again and has no second effect.',
    tags,
    permission: 'pay.sale',
    requiresDeviceToken: true,
    rateLimit,
    faultOutcome: 'Unknown',
    headers: paymentIdempotencyHeaders,
    body: QrRequest,
    examples,
    response: { 200: QrTransaction, 202: QrTransaction },
    responseHeaders: acceptedHeaders,
    errors: [
      'client_id_reused',
      'client_id_invalid',
      'idempotency_key_mismatch',
      'header_invalid',
      'entity_out_of_scope',
      'merchant_not_found',
      'store_not_found',
      'device_not_found',
      'entity_mismatch',
      'merchant_not_active',
      'store_not_active',
      'device_not_active',
      'currency_unknown',
      'payment_type_not_enabled',
      'provider_unavailable',
      'concurrent_modification',
      'database_unavailable',
      'recovery_required',
    ],
    handler: async (request, reply) => {
      deps.numbering.requireAvailable();
      const payment = resolveClientTransactionId(request.headers, request.body);
      const { loaded, replayed } = await createPayment(deps, request.caller, payment);
      setReplayedHeader(reply, replayed);
      const readEvents = () => deps.store.eventsForView(loaded.row);
      const events = loaded.newEvents ?? (await withUnknownOutcome(readEvents));
      const view = viewPayment(loaded, events);
      const { status, failure, answeredStatus } = view;
      // The provider did not begin the payment: the till may retry under another identifier.
      if (answeredStatus === 'Failed' && view.providerTransactionId === undefined) {
        throwProblem(
          'provider_unavailable',
          'The provider did not create the payment. Create a new payment with a new clientTransactionId.',
          {
            extensions: { transaction: transactionDetails(loaded) },
            ...defined({ logDetail: failure?.code }),
          },
        );
      }
      if (status === 'Created') respondAccepted(reply, paymentLocation(loaded));
      else if (isAnswered(events) && answeredStatus === 'Created')
        respondAcceptedAgain(reply, paymentLocation(loaded));
      return view;
    },
  });
}
