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
import { requireValidIdentifier } from '../transaction/payment-request-rules.ts';
import { viewOperation, viewPayment } from '../transaction/payment-views.ts';
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
} from './qr-route-parts.ts';

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
      'After the server has stored the cancel, the payment cannot complete: if the consumer pays later, the server refunds the money. The answer is 202 with a Pending operation if the provider has not answered. A payment that ended without money counts as cancelled.',
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
      'Refunds the whole refundable amount or a part of it. The answer is 202 with a Pending operation if the provider has not decided.',
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
    summary: 'Resolve the manual review of a QR payment',
    description:
      'For a payment with `hold`. Accept accepts the paid amount while the terminal still waits. Refund refunds it. Settle, with a note, records a settlement outside the platform. For an unanswered refund, Ask requests its status from the provider, which may end the review, and Retry sends the refund again with its identifier. The events and the audit log name the operator.',
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
