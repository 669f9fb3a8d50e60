// The routes of captures, refunds and cancels, by till and by web.
import {
  AllowedOperations,
  CancelRequest,
  CaptureRequest,
  defined,
  type ErrorCode,
  OperationAnswer,
  OperationResolveRequest,
  RefundByWebRequest,
  RefundRequest,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { type Caller, route } from '../../http/index.ts';
import { chipOutcomeOf } from '../card-input/chip-completion-data.ts';
import type { PaymentsDeps } from '../deps.ts';
import { wasPending } from '../operations/operation-idempotency.ts';
import { allowed, refundByWeb } from '../operations/refund-or-void.ts';
import { resolveOperation } from '../operations/resolve-manually.ts';
import {
  type OperationAnswer as Answer,
  type OperationCall,
  operate,
} from '../operations/run-operation.ts';
import { findTransaction } from '../runtime/find-transaction.ts';
import type { Verb } from '../transaction/state-machine.ts';
import {
  ByTransaction,
  base,
  common,
  idempotencyHeaders,
  laterHeaders,
  markReplay,
  OfMerchant,
  ofApproval,
  ofState,
  ofTransaction,
  operationIdOf,
  pointAt,
  rateLimit,
  tags,
} from './route-schemas.ts';
import { viewOperation, viewTransaction } from './transaction-view.ts';

function viewAnswer({ loaded, operation }: Answer) {
  const shown = operation === undefined ? undefined : viewOperation(operation, loaded);
  return { ...viewTransaction(loaded), ...defined({ operation: shown }) };
}

/** A replay has the status of the first answer, and tells what has become of it since. */
function answerOperation(reply: FastifyReply, answer: Answer) {
  const { loaded, operation, replayed } = answer;
  markReplay(reply, replayed);
  const view = viewAnswer(answer);
  if (view.operation?.status === 'Pending') pointAt(reply, loaded);
  else if (replayed && operation !== undefined && wasPending(loaded, operation)) {
    reply.code(202).header('Location', `${base}/${loaded.row.transactionId}`);
  }
  return view;
}

type Body = Omit<OperationCall, 'actor' | 'approval' | 'chipData'> & {
  approvalCode?: string;
  emvData?: string;
};

async function runOperation(
  deps: PaymentsDeps,
  request: {
    caller: Caller;
    headers: Record<string, unknown>;
    body: Body;
    params: { transactionId: string };
    query: { merchantId?: string };
  },
  reply: FastifyReply,
  verb: Verb,
) {
  const { caller, params, query } = request;
  const { approvalCode, emvData: _emvData, ...body } = request.body;
  const clientOperationId = operationIdOf(request.headers, body.clientOperationId);
  const loaded = await findTransaction(deps, caller, params.transactionId, query.merchantId);
  const chipData = chipOutcomeOf(deps, loaded, request.body);
  const by = caller.deviceId ?? caller.userId ?? caller.clientId;
  const approval = { code: approvalCode, by };
  const call = { ...body, clientOperationId, approval, chipData };
  const answer = await operate(deps, loaded, verb, call);
  return answerOperation(reply, answer);
}

const ofCancel: ErrorCode[] = [
  'already_captured',
  'nothing_to_cancel',
  'cancel_amount_exceeded',
  'emv_data_invalid',
  'emv_data_mismatch',
  'partial_cancel_not_supported',
  'partial_reversal_not_supported',
];

export function registerOperations(app: FastifyInstance, deps: PaymentsDeps): void {
  const shared = {
    method: 'POST',
    tags,
    rateLimit,
    headers: idempotencyHeaders,
    bodyOptional: true,
    faultOutcome: 'Unknown',
    params: ByTransaction,
    query: OfMerchant,
    response: { 200: OperationAnswer, 202: OperationAnswer },
    answerHeaders: laterHeaders,
  } as const;
  route(app, {
    ...shared,
    url: `${base}/:transactionId/capture`,
    operationId: 'captureTransaction',
    summary: 'Capture an authorised transaction',
    description: 'In full or in part, several times where the acquirer contract allows it.',
    permission: 'pay.capture',
    body: CaptureRequest,
    errors: [
      ...common,
      ...ofState,
      ...ofApproval,
      'nothing_to_capture',
      'capture_amount_exceeded',
      'multiple_capture_not_supported',
    ],
    handler: (request, reply) =>
      runOperation(deps, { ...pick(request), body: request.body }, reply, 'Capture'),
  });
  route(app, {
    ...shared,
    url: `${base}/:transactionId/refund`,
    operationId: 'refundTransaction',
    summary: 'Refund a captured transaction',
    description: 'Asynchronous: 202 with a Pending operation where the answer is not final.',
    permission: 'pay.refund',
    body: RefundRequest,
    errors: [
      ...common,
      ...ofState,
      ...ofApproval,
      'not_captured',
      'already_refunded',
      'refund_amount_exceeded',
    ],
    handler: (request, reply) =>
      runOperation(deps, { ...pick(request), body: request.body }, reply, 'Refund'),
  });
  route(app, {
    ...shared,
    url: `${base}/:transactionId/cancel`,
    operationId: 'cancelTransaction',
    summary: 'Cancel an uncaptured transaction',
    description: 'Functional is a void, in full or in part; Technical reverses the whole sale.',
    permission: 'pay.cancel',
    bodyOptional: false,
    priority: 'last',
    body: CancelRequest,
    errors: [...common, ...ofState, ...ofApproval, ...ofCancel],
    handler: (request, reply) => {
      const verb = request.body.cancelReason === 'Technical' ? 'Reverse' : 'Cancel';
      return runOperation(deps, { ...pick(request), body: request.body }, reply, verb);
    },
  });
}

function pick(request: {
  caller: Caller;
  headers: Record<string, unknown>;
  params: { transactionId: string };
  query: { merchantId?: string };
}) {
  const { caller, headers, params, query } = request;
  return { caller, headers, params, query };
}

export function registerByWeb(app: FastifyInstance, deps: PaymentsDeps): void {
  route(app, {
    method: 'GET',
    url: `${base}/:transactionId/allowedoperations`,
    operationId: 'getAllowedOperations',
    summary: 'What may be done with a transaction now',
    tags,
    rateLimit,
    permission: ['pay.read', 'pay.refundbyweb'],
    params: ByTransaction,
    query: OfMerchant,
    response: { 200: AllowedOperations },
    errors: ofTransaction,
    handler: async ({ caller, params, query }) =>
      allowed(deps, await findTransaction(deps, caller, params.transactionId, query.merchantId)),
  });
  route(app, {
    method: 'POST',
    url: `${base}/:transactionId/refundbyweb`,
    operationId: 'refundTransactionByWeb',
    summary: 'Refund or cancel by web',
    description: 'Refunds where something captured is left to refund, else cancels.',
    tags,
    rateLimit,
    permission: 'pay.refundbyweb',
    faultOutcome: 'Unknown',
    headers: idempotencyHeaders,
    bodyOptional: true,
    params: ByTransaction,
    query: OfMerchant,
    body: RefundByWebRequest,
    response: { 200: OperationAnswer, 202: OperationAnswer },
    answerHeaders: laterHeaders,
    errors: [
      ...common,
      ...ofState,
      'already_captured',
      'already_refunded',
      'refund_amount_exceeded',
      'cancel_amount_exceeded',
      'partial_cancel_not_supported',
    ],
    handler: async (request, reply) => {
      const { caller, params, query, body } = request;
      const clientOperationId = operationIdOf(request.headers, body.clientOperationId);
      const loaded = await findTransaction(deps, caller, params.transactionId, query.merchantId);
      const { amount } = body;
      const answer = await refundByWeb(deps, caller, loaded, { amount, clientOperationId });
      return answerOperation(reply, answer);
    },
  });
}

const numberForm = /^[1-9]\d{0,8}$/;

const OfOperation = Type.Object({
  ...ByTransaction.properties,
  number: Type.String({
    minLength: 1,
    maxLength: 36,
    description: 'The number of the operation within its transaction.',
  }),
});

export function registerResolve(app: FastifyInstance, deps: PaymentsDeps): void {
  route(app, {
    method: 'POST',
    url: `${base}/:transactionId/operations/:number/resolve`,
    operationId: 'resolveOperation',
    summary: 'End an operation that nobody answers',
    description:
      'Of a Pending operation whose numbers the acquirer has had from something else, or that is without an answer for ten minutes: somebody has looked into its books, and says whether it was done. It is not sent again. Who decided stands in its event and in the audit.',
    tags,
    rateLimit,
    permission: 'pay.refundbyweb',
    faultOutcome: 'Unknown',
    params: OfOperation,
    query: OfMerchant,
    body: OperationResolveRequest,
    response: { 200: OperationAnswer },
    answerHeaders: { 200: ['Idempotent-Replayed'] },
    errors: [...ofTransaction, 'resolution_not_possible', 'concurrent_modification'],
    handler: async ({ caller, id, params, query, body }, reply) => {
      const loaded = await findTransaction(deps, caller, params.transactionId, query.merchantId);
      const number = numberForm.test(params.number) ? Number(params.number) : 0;
      const decision = { ...body, number };
      const answer = await resolveOperation(deps, { caller, id }, loaded, decision);
      markReplay(reply, answer.replayed);
      return viewAnswer(answer);
    },
  });
}
