// Registers the routes that change a payment: cancel, refund and resolve.
import {
  defined,
  QrCancelRequest,
  QrOperationAnswer,
  QrRefundRequest,
  QrResolveRequest,
  QrTransaction,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  acceptedHeaders,
  type Caller,
  operationIdempotencyHeaders,
  respondAccepted,
  respondAcceptedAgain,
  route,
  setReplayedHeader,
} from '../../http/index.ts';
import { withUnknownOutcome } from '../../platform/index.ts';
import { cancelOrRefund, type OperationRequest } from '../operations/cancel-and-refund.ts';
import { findPayment } from '../operations/find-payment.ts';
import { resolveReview } from '../operations/resolve-review.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { viewOperation, viewPayment } from '../transaction/payment-views.ts';
import { requireValidIdentifier } from '../transaction/request-rules.ts';
import type { PaymentOperation } from '../transaction/state-machine.ts';
import { isUndecided } from '../transaction/unanswered-refunds.ts';
import {
  MerchantQuery,
  operationErrors,
  paymentLocation,
  qrBasePath,
  rateLimit,
  resolveOperationId,
  TransactionParams,
  tags,
  transactionErrors,
} from './shared-route-parts.ts';

type OperationHttpRequest = {
  caller: Caller;
  headers: Record<string, unknown>;
  params: { qrTransactionId: string };
  query: { merchantId?: string };
  body: OperationRequest;
};

async function runOperation(
  deps: QrDeps,
  request: OperationHttpRequest,
  reply: FastifyReply,
  verb: PaymentOperation,
) {
  const { caller, headers, params, query, body } = request;
  requireValidIdentifier(body.clientOperationId, '/clientOperationId');
  const clientOperationId = resolveOperationId(headers, body.clientOperationId);
  const payment = await findPayment(deps, caller, params.qrTransactionId, query.merchantId);
  const { loaded, operation, replayed } = await cancelOrRefund(deps, payment, verb, {
    ...body,
    clientOperationId,
  });
  setReplayedHeader(reply, replayed);
  if (operation !== undefined && isUndecided(operation))
    respondAccepted(reply, paymentLocation(loaded));
  else if (replayed && operation?.details.awaited === true)
    respondAcceptedAgain(reply, paymentLocation(loaded));
  const { currency } = loaded.row.position;
  const events = await withUnknownOutcome(() => deps.store.eventsForView(loaded.row));
  return {
    ...viewPayment(loaded, events),
    ...defined({
      operation: operation === undefined ? undefined : viewOperation(operation, currency),
    }),
  };
}

export function registerOperationRoutes(app: FastifyInstance, deps: QrDeps): void {
  const shared = {
    method: 'POST',
    tags,
    rateLimit,
    bodyOptional: true,
    faultOutcome: 'Unknown',
    headers: operationIdempotencyHeaders,
    params: TransactionParams,
    query: MerchantQuery,
    response: { 200: QrOperationAnswer, 202: QrOperationAnswer },
    responseHeaders: acceptedHeaders,
  } as const;
  route(app, {
    ...shared,
    url: `${qrBasePath}/:qrTransactionId/cancel`,
    operationId: 'cancelQrPayment',
    summary: 'Cancel a QR payment',
    description:
      'Once it is durable the payment is not made: what is paid all the same goes back by itself. 202 with a Pending operation where the provider has not answered. A payment that has ended without money is cancelled already.',
    permission: 'pay.cancel',
    priority: 'last',
    body: QrCancelRequest,
    errors: [...operationErrors, 'already_completed'],
    handler: (request, reply) =>
      runOperation(deps, pickRequest(request, request.body), reply, 'Cancel'),
  });
  route(app, {
    ...shared,
    url: `${qrBasePath}/:qrTransactionId/refund`,
    operationId: 'refundQrPayment',
    summary: 'Refund a QR payment',
    description:
      'All that is left or a part of it; 202 with a Pending operation where the provider has not decided.',
    permission: 'pay.refund',
    body: QrRefundRequest,
    errors: [
      ...operationErrors,
      'not_completed',
      'transaction_in_progress',
      'transaction_declined',
      'already_refunded',
      'refund_amount_exceeded',
      'currency_mismatch',
      'event_limit_reached',
    ],
    handler: async (request, reply) => {
      deps.numbering.requireAvailable();
      return runOperation(deps, pickRequest(request, request.body), reply, 'Refund');
    },
  });
  registerResolveRoute(app, deps);
}

function pickRequest(
  request: Omit<OperationHttpRequest, 'body'>,
  body: OperationRequest,
): OperationHttpRequest {
  const { caller, headers, params, query } = request;
  return { caller, headers, params, query, body };
}

function registerResolveRoute(app: FastifyInstance, deps: QrDeps): void {
  route(app, {
    method: 'POST',
    url: `${qrBasePath}/:qrTransactionId/resolve`,
    operationId: 'resolveQrPayment',
    summary: 'Resolve a held QR payment',
    description:
      'Of a payment with `hold`: Accept takes what was paid as it is, where its terminal still waits; Refund gives it back; Settle says, with a note, that the matter was ended outside of the platform. Of a refund that nobody has answered, Ask has the provider asked how it stands, which may end the hold, and Retry asks for it again under its own name. Who decided stands in its events and in the audit.',
    tags,
    rateLimit,
    permission: 'pay.refundbyweb',
    faultOutcome: 'Unknown',
    params: TransactionParams,
    query: MerchantQuery,
    body: QrResolveRequest,
    response: { 200: QrTransaction },
    errors: [
      ...transactionErrors,
      ...(['payment_not_held', 'resolution_not_possible'] as const),
      ...(['event_limit_reached', 'concurrent_modification', 'provider_timeout'] as const),
    ],
    handler: async ({ caller, id, params, query, body }) => {
      const payment = await findPayment(deps, caller, params.qrTransactionId, query.merchantId);
      const loaded = await resolveReview(deps, { caller, id }, payment, body);
      const events = await withUnknownOutcome(() => deps.store.eventsForView(loaded.row));
      return viewPayment(loaded, events);
    },
  });
}
