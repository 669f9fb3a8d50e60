// Routes: confirm, capture, refund, cancel, refund by web, manual resolution.
import {
  AllowedOperations,
  CancelRequest,
  CaptureRequest,
  ConfirmRequest,
  defined,
  type ErrorCode,
  OperationAnswer,
  OperationResolveRequest,
  RefundByWebRequest,
  RefundRequest,
  Transaction,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import {
  acceptedHeaders,
  operationIdempotencyHeaders,
  type RouteRequest,
  respondAccepted,
  respondAcceptedAgain,
  route,
  setReplayedHeader,
} from '../../http/index.ts';
import { type ConfirmPorts, confirmSale } from '../operations/confirm-sale.ts';
import type { OperationInput, OperationResult } from '../operations/operation-decision.ts';
import { wasPending } from '../operations/operation-idempotency.ts';
import { getAllowedOperations, refundOrVoid } from '../operations/refund-or-void.ts';
import { type ResolvePorts, resolveManually } from '../operations/resolve-manually.ts';
import { type OperationPorts, runOperation } from '../operations/run-operation.ts';
import { type FindPorts, findTransaction } from '../runtime/find-transaction.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import {
  type ChipDataPorts,
  validateChipCompletionData,
} from '../validation/validate-reversal-chip-data.ts';
import {
  approvalErrors,
  locationOf,
  MerchantQuery,
  type NumberingPort,
  operationErrors,
  paymentRoute,
  resolveOperationId,
  TransactionParams,
  transactionErrors,
  transactionsPath,
} from './transaction-route-parts.ts';
import { createRefundReceipt, viewOperation, viewTransaction } from './transaction-view.ts';

export function registerConfirmRoute(app: FastifyInstance, ports: ConfirmPorts & FindPorts): void {
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/:transactionId/confirm`,
    operationId: 'confirmTransaction',
    summary: 'Confirm a sale',
    description:
      'For a sale with confirmWithinSeconds: without a confirmation in time the platform reverses the sale. ' +
      'A second confirmation, and one of a sale that needs none, changes nothing.',
    ...paymentRoute,
    permission: 'pay.sale',
    priority: 'last',
    bodyOptional: true,
    faultOutcome: 'Unknown',
    params: TransactionParams,
    query: MerchantQuery,
    body: ConfirmRequest,
    response: { 200: Transaction },
    responseHeaders: { 200: ['Idempotent-Replayed'] },
    errors: [
      ...transactionErrors,
      'concurrent_modification',
      'transaction_in_progress',
      'reversal_in_progress',
      'transaction_reversed',
      'transaction_declined',
      'not_authorized',
      'authorization_expired',
    ],
    handler: async ({ caller, params: { transactionId }, query, span }, reply) => {
      const location = await findTransaction(ports, caller, transactionId, query.merchantId);
      const { transaction, replayed } = await confirmSale(ports, location, span);
      setReplayedHeader(reply, replayed);
      return viewTransaction(transaction);
    },
  });
}

function viewResult({ transaction, operation }: OperationResult) {
  return {
    ...viewTransaction(transaction),
    ...defined({
      operation: operation && viewOperation(operation, transaction),
      receipt:
        operation?.kind === 'Refund' ? createRefundReceipt(transaction, operation) : undefined,
    }),
  };
}

/** A replay has the HTTP status of the first response and the current body. */
function sendOperationResponse(reply: FastifyReply, result: OperationResult) {
  const { transaction, operation, replayed } = result;
  setReplayedHeader(reply, replayed);
  const view = viewResult(result);
  if (view.operation?.status === 'Pending') respondAccepted(reply, locationOf(transaction));
  else if (replayed && operation !== undefined && wasPending(transaction, operation)) {
    respondAcceptedAgain(reply, locationOf(transaction));
  }
  return view;
}

export type RunPorts = OperationPorts & FindPorts & ChipDataPorts & NumberingPort;

type OperationBody = Omit<OperationInput, 'actor' | 'approval' | 'chipData' | 'span'> & {
  approvalCode?: string;
  emvData?: string;
};

async function handleOperation(
  ports: RunPorts,
  request: RouteRequest<'token', undefined, typeof MerchantQuery, typeof TransactionParams> & {
    body: OperationBody;
  },
  reply: FastifyReply,
  operationType: OperationType,
) {
  ports.numbering.requireAvailable();
  const { caller, params, query, span } = request;
  const { approvalCode: code, emvData: _emvData, ...body } = request.body;
  const clientOperationId = resolveOperationId(request.headers, body.clientOperationId);
  const transaction = await findTransaction(ports, caller, params.transactionId, query.merchantId);
  const chipData = validateChipCompletionData(ports, transaction, request.body);
  const attemptedBy = caller.deviceId ?? caller.userId ?? caller.clientId;
  const approval = { code, attemptedBy };
  const input = { ...body, clientOperationId, approval, chipData, span };
  if (span !== undefined)
    span.attributes['switchyard.transaction_id'] = transaction.row.transactionId;
  const result = await runOperation(ports, transaction, operationType, input);
  return sendOperationResponse(reply, result);
}

const cancelErrors: ErrorCode[] = [
  'already_captured',
  'nothing_to_cancel',
  'cancel_amount_exceeded',
  'emv_data_invalid',
  'emv_data_mismatch',
  'partial_cancel_not_supported',
  'partial_reversal_not_supported',
];

const shared = {
  method: 'POST',
  ...paymentRoute,
  headers: operationIdempotencyHeaders,
  bodyOptional: true,
  faultOutcome: 'Unknown',
  params: TransactionParams,
  query: MerchantQuery,
  response: { 200: OperationAnswer, 202: OperationAnswer },
  responseHeaders: acceptedHeaders,
} as const;

export function registerOperationRoutes(app: FastifyInstance, ports: RunPorts): void {
  route(app, {
    ...shared,
    url: `${transactionsPath}/:transactionId/capture`,
    operationId: 'captureTransaction',
    summary: 'Capture an authorised transaction',
    description: 'In full or in part, and several times if the acquirer contract allows it.',
    permission: 'pay.capture',
    body: CaptureRequest,
    errors: [
      ...operationErrors,
      ...approvalErrors,
      'nothing_to_capture',
      'capture_amount_exceeded',
      'multiple_capture_not_supported',
    ],
    handler: (request, reply) => handleOperation(ports, request, reply, 'Capture'),
  });
  route(app, {
    ...shared,
    url: `${transactionsPath}/:transactionId/refund`,
    operationId: 'refundTransaction',
    summary: 'Refund a captured transaction',
    description:
      'Answers 202 with a Pending operation if the acquirer has given no final response.',
    permission: 'pay.refund',
    body: RefundRequest,
    errors: [
      ...operationErrors,
      ...approvalErrors,
      'not_captured',
      'already_refunded',
      'refund_amount_exceeded',
    ],
    handler: (request, reply) => handleOperation(ports, request, reply, 'Refund'),
  });
  route(app, {
    ...shared,
    url: `${transactionsPath}/:transactionId/cancel`,
    operationId: 'cancelTransaction',
    summary: 'Cancel an uncaptured transaction',
    description: 'Functional is a void, in full or in part; Technical reverses the whole sale.',
    permission: 'pay.cancel',
    bodyOptional: false,
    priority: 'last',
    body: CancelRequest,
    errors: [...operationErrors, ...approvalErrors, ...cancelErrors],
    handler: (request, reply) => {
      const operationType = request.body.cancelReason === 'Technical' ? 'Reversal' : 'Cancel';
      return handleOperation(ports, request, reply, operationType);
    },
  });
}

const operationNumberPattern = /^[1-9]\d{0,8}$/;

const OperationParams = Type.Object({
  ...TransactionParams.properties,
  number: Type.String({
    minLength: 1,
    maxLength: 36,
    description: 'The number of the operation within its transaction.',
  }),
});

export function registerWebOperationRoutes(
  app: FastifyInstance,
  ports: OperationPorts & FindPorts & ResolvePorts & NumberingPort,
): void {
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/:transactionId/allowedoperations`,
    operationId: 'getAllowedOperations',
    summary: 'Get the allowed operations of a transaction',
    ...paymentRoute,
    permission: ['pay.read', 'pay.refundbyweb'],
    params: TransactionParams,
    query: MerchantQuery,
    response: { 200: AllowedOperations },
    errors: transactionErrors,
    handler: async ({ caller, params: { transactionId }, query: { merchantId } }) =>
      getAllowedOperations(ports, await findTransaction(ports, caller, transactionId, merchantId)),
  });
  route(app, {
    ...shared,
    url: `${transactionsPath}/:transactionId/refundbyweb`,
    operationId: 'refundTransactionByWeb',
    summary: 'Refund or cancel a transaction by web',
    description: 'Refunds if a captured amount can be refunded, else cancels.',
    permission: 'pay.refundbyweb',
    body: RefundByWebRequest,
    errors: [
      ...operationErrors,
      'already_captured',
      'already_refunded',
      'refund_amount_exceeded',
      'cancel_amount_exceeded',
      'partial_cancel_not_supported',
    ],
    handler: async ({ caller, headers, params, query: { merchantId }, body, span }, reply) => {
      ports.numbering.requireAvailable();
      const { amount } = body;
      const clientOperationId = resolveOperationId(headers, body.clientOperationId);
      const transaction = await findTransaction(ports, caller, params.transactionId, merchantId);
      const result = await refundOrVoid(ports, caller, transaction, {
        amount,
        clientOperationId,
        span,
      });
      return sendOperationResponse(reply, result);
    },
  });
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/:transactionId/operations/:number/resolve`,
    operationId: 'resolveOperation',
    summary: 'Resolve an operation without a response',
    description:
      'For a Pending operation with a reference collision, or without a response for ten minutes, after a check with the acquirer. The operation is not sent again. The event and the audit record name the user.',
    ...paymentRoute,
    permission: 'pay.refundbyweb',
    faultOutcome: 'Unknown',
    params: OperationParams,
    query: MerchantQuery,
    body: OperationResolveRequest,
    response: { 200: OperationAnswer },
    responseHeaders: { 200: ['Idempotent-Replayed'] },
    errors: [...transactionErrors, 'resolution_not_possible', 'concurrent_modification'],
    handler: async ({ caller, id, params, query: { merchantId }, body }, reply) => {
      const transaction = await findTransaction(ports, caller, params.transactionId, merchantId);
      const number = operationNumberPattern.test(params.number) ? Number(params.number) : 0;
      const decision = { ...body, number };
      const result = await resolveManually(ports, { caller, id }, transaction, decision);
      setReplayedHeader(reply, result.replayed);
      return viewResult(result);
    },
  });
}
