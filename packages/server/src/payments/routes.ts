// The routes of the card payments: who may call, what goes in, what comes out.
import {
  AllowedOperations,
  Availability,
  Batch,
  CancelRequest,
  CaptureAllRequest,
  CaptureRequest,
  type ErrorCode,
  OperationAnswer,
  ProcessRequest,
  RefundByWebRequest,
  RefundRequest,
  refuse,
  Transaction,
  TransactionWithEvents,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { type Caller, route } from '../http/index.ts';
import { availability } from './availability.ts';
import { allowed, refundByWeb } from './by-web.ts';
import { type CaptureAllDeps, captureAll, findBatch } from './capture-all.ts';
import { findTransaction } from './find.ts';
import type { LoadedTransaction } from './model.ts';
import { type OperationAnswer as Answer, type OperationCall, operate } from './operation.ts';
import { sale } from './sale.ts';
import type { Verb } from './state.ts';
import { status } from './status.ts';
import { viewOperation, viewTransaction, viewWithEvents } from './view.ts';

const base = '/payment/v1/transactions';
const tags = ['Card payments'];
const rateLimit = 'payments';

const Identifier = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The server's transaction identifier, or the client's.",
});
const ByTransaction = Type.Object({ transactionId: Identifier });
const OfMerchant = Type.Object(
  {
    merchantId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Decides where several merchants match.' }),
    ),
  },
  { additionalProperties: false },
);

const common: ErrorCode[] = [
  'transaction_not_found',
  'transaction_ambiguous',
  'client_id_reused',
  'concurrent_modification',
  'idempotency_key_mismatch',
  'acquirer_unavailable',
  'entity_out_of_scope',
];
const ofState: ErrorCode[] = [
  'transaction_in_progress',
  'reversal_in_progress',
  'transaction_declined',
  'not_authorized',
  'authorization_expired',
  'already_cancelled',
  'currency_mismatch',
];

/** The identifier of an operation, from the body or the header; both must say the same. */
function operationIdOf(
  headers: Record<string, unknown>,
  inBody: string | undefined,
): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return inBody;
  if (typeof header !== 'string' || !/^[A-Za-z0-9._:-]{1,64}$/.test(header)) {
    return refuse('header_invalid', 'Idempotency-Key is 1 to 64 of A-Z a-z 0-9 . _ : -');
  }
  if (inBody !== undefined && inBody !== header) {
    refuse('idempotency_key_mismatch', 'Idempotency-Key and clientOperationId differ.');
  }
  return header;
}

function markReplay(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotent-Replayed', 'true');
}

const retryAfterSeconds = '2';

function pointAt(reply: FastifyReply, loaded: LoadedTransaction): void {
  reply.code(202);
  reply.header('Location', `${base}/${loaded.row.transactionId}`);
  reply.header('Retry-After', retryAfterSeconds);
}

function answerOperation(reply: FastifyReply, { loaded, operation, replayed }: Answer) {
  markReplay(reply, replayed);
  const shown = operation === undefined ? undefined : viewOperation(operation, loaded);
  if (shown?.status === 'Pending') pointAt(reply, loaded);
  return { ...viewTransaction(loaded), ...(shown === undefined ? {} : { operation: shown }) };
}

function registerSale(app: FastifyInstance, deps: CaptureAllDeps): void {
  route(app, {
    method: 'POST',
    url: `${base}/process`,
    operationId: 'processTransaction',
    summary: 'Process a sale',
    description:
      'Authorises, and captures at once where the capture mode is Immediate. A decline is not an ' +
      'error: it is answered 200 with the whole transaction. The same clientTransactionId with ' +
      'the same request is answered again, without a second effect.',
    tags,
    permission: 'pay.sale',
    rateLimit,
    faultOutcome: 'Unknown',
    body: ProcessRequest,
    response: { 200: Transaction, 202: Transaction },
    errors: [
      ...common,
      'amount_invalid',
      'amount_zero',
      'amount_too_large',
      'currency_unknown',
      'currency_not_supported',
      'entry_mode_invalid',
      'card_number_invalid',
      'card_expired_input',
      'card_token_unknown',
      'emv_data_invalid',
      'emv_data_mismatch',
      'capture_mode_not_supported',
      'partial_approval_not_supported',
      'clear_card_data_refused',
      'no_acquirer_for_merchant',
      'too_late',
      'client_id_invalid',
    ],
    handler: async (request, reply) => {
      const header = operationIdOf(request.headers, request.body.clientTransactionId);
      if (header !== request.body.clientTransactionId) throw new Error('unreachable');
      const { loaded, replayed } = await sale(deps, request.caller, request.body);
      markReplay(reply, replayed);
      if (loaded.row.state === 'Failed') {
        refuse('acquirer_unavailable', 'The acquirer could not be reached; nothing was sent.', {
          extensions: {
            transaction: {
              transactionId: loaded.row.transactionId,
              clientTransactionId: loaded.row.clientTransactionId,
              state: loaded.row.state,
            },
          },
        });
      }
      if (loaded.row.state === 'Received') pointAt(reply, loaded);
      return viewTransaction(loaded);
    },
  });
}

type Body = Omit<OperationCall, 'actor'> & { approvalCode?: string };

async function runOperation(
  deps: CaptureAllDeps,
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
  const {
    approvalCode: _approvalCode,
    emvData: _emvData,
    ...members
  } = request.body as Body & {
    emvData?: string;
  };
  const clientOperationId = operationIdOf(request.headers, members.clientOperationId);
  const loaded = await findTransaction(deps, caller, params.transactionId, query.merchantId);
  const answer = await operate(deps, loaded, verb, { ...members, clientOperationId });
  return answerOperation(reply, answer);
}

function registerOperations(app: FastifyInstance, deps: CaptureAllDeps): void {
  const shared = {
    method: 'POST',
    tags,
    rateLimit,
    bodyOptional: true,
    faultOutcome: 'Unknown',
    params: ByTransaction,
    query: OfMerchant,
    response: { 200: OperationAnswer, 202: OperationAnswer },
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
    errors: [...common, ...ofState, 'not_captured', 'already_refunded', 'refund_amount_exceeded'],
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
    errors: [
      ...common,
      ...ofState,
      'already_captured',
      'cancel_amount_exceeded',
      'partial_cancel_not_supported',
      'partial_reversal_not_supported',
    ],
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

function registerByWeb(app: FastifyInstance, deps: CaptureAllDeps): void {
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
    errors: ['transaction_not_found', 'transaction_ambiguous'],
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
    bodyOptional: true,
    params: ByTransaction,
    query: OfMerchant,
    body: RefundByWebRequest,
    response: { 200: OperationAnswer, 202: OperationAnswer },
    errors: [...common, ...ofState, 'refund_amount_exceeded', 'cancel_amount_exceeded'],
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

const WaitQuery = Type.Object(
  {
    merchantId: Type.Optional(Type.String({ format: 'uuid' })),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30,
        description: 'Seconds to wait while something is under way.',
      }),
    ),
  },
  { additionalProperties: false },
);

function registerReads(app: FastifyInstance, deps: CaptureAllDeps): void {
  route(app, {
    method: 'GET',
    url: `${base}/:transactionId`,
    operationId: 'getTransaction',
    summary: 'A transaction with its events',
    tags,
    rateLimit,
    permission: 'pay.read',
    priority: 'last',
    params: ByTransaction,
    query: WaitQuery,
    response: { 200: TransactionWithEvents },
    errors: ['transaction_not_found', 'transaction_ambiguous', 'entity_out_of_scope'],
    handler: async ({ caller, params, query }) =>
      viewWithEvents(
        await status(deps, caller, {
          identifier: params.transactionId,
          merchantId: query.merchantId,
          waitSeconds: query.wait ?? 0,
        }),
      ),
  });
  route(app, {
    method: 'GET',
    url: `${base}/technical/isAvailable`,
    operationId: 'getAvailability',
    summary: 'Whether payments can be taken',
    tags,
    rateLimit,
    permission: ['pay.sale', 'pay.read'],
    priority: 'last',
    response: { 200: Availability },
    errors: [],
    handler: async ({ caller }) => availability(deps, caller),
  });
}

const ItemsPage = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    cursor: Type.Optional(Type.String({ format: 'uuid' })),
  },
  { additionalProperties: false },
);

const itemsDefault = 50;

function registerBatches(app: FastifyInstance, deps: CaptureAllDeps): void {
  route(app, {
    method: 'POST',
    url: `${base}/captureall`,
    operationId: 'captureAll',
    summary: 'Capture all authorised transactions',
    description: 'Or those named in `items`. Durable and resumable; a dry run only tells.',
    tags,
    rateLimit,
    permission: 'pay.capture',
    bodyOptional: true,
    body: CaptureAllRequest,
    response: { 200: Batch, 202: Batch },
    errors: ['client_id_reused', 'transaction_not_found', 'entity_out_of_scope'],
    handler: async (request, reply) => {
      const clientOperationId = operationIdOf(request.headers, request.body.clientOperationId);
      const { batch, replayed } = await captureAll(deps, request.caller, {
        ...request.body,
        ...(clientOperationId === undefined ? {} : { clientOperationId }),
      });
      markReplay(reply, replayed);
      if (batch.dryRun !== true) {
        reply.code(202).header('Location', `${base}/captureall/${batch.batchId}`);
      }
      return batch;
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/captureall/:batchId`,
    operationId: 'getCaptureAll',
    summary: 'A capture of all, with its items',
    tags,
    rateLimit,
    permission: ['pay.capture', 'pay.read'],
    priority: 'list',
    params: Type.Object({ batchId: Type.String({ format: 'uuid' }) }),
    query: ItemsPage,
    response: { 200: Batch },
    errors: ['batch_not_found'],
    handler: ({ caller, params, query }) =>
      findBatch(deps, caller, params.batchId, {
        after: query.cursor,
        limit: query.limit ?? itemsDefault,
      }),
  });
}

/** Registers every route of the room. */
export function registerPaymentRoutes(app: FastifyInstance, deps: CaptureAllDeps): void {
  registerSale(app, deps);
  registerOperations(app, deps);
  registerByWeb(app, deps);
  registerReads(app, deps);
  registerBatches(app, deps);
}
