// Routes of capture batches.
import { Batch, CaptureAllRequest, CapturePlan, defined } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { operationIdempotencyHeaders, route, setReplayedHeader } from '../../http/index.ts';
import {
  type CaptureAllPorts,
  captureAll,
  findBatch,
  planCaptures,
} from '../batch-capture/batch-capture.ts';
import {
  identifierErrors,
  idParams,
  type NumberingPort,
  paymentRoute,
  queryOf,
  resolveOperationId,
  transactionsPath,
} from './transaction-route-parts.ts';

const ItemsQuery = queryOf({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  cursor: Type.Optional(Type.String({ format: 'uuid', 'x-codes': { default: 'cursor_invalid' } })),
});

const defaultPageSize = 50;
const batchesPath = '/payment/v1/capture-batches';
const uuidForm = '^[0-9a-fA-F-]{36}$';

export function registerBatchCaptureRoutes(
  app: FastifyInstance,
  ports: CaptureAllPorts & NumberingPort,
): void {
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/captureall`,
    operationId: 'captureAllTransactions',
    summary: 'Capture all authorised transactions',
    description:
      'Or those named in `items`. The batch is durable and resumable. With `dryRun` nothing is stored: the answer is 200 with what would be captured, and `clientOperationId` can still be used.',
    ...paymentRoute,
    permission: 'pay.capture',
    headers: operationIdempotencyHeaders,
    bodyOptional: true,
    body: CaptureAllRequest,
    response: { 200: CapturePlan, 202: Batch },
    responseHeaders: { 202: ['Location'] },
    errors: [
      ...identifierErrors,
      'transaction_not_found',
      'merchant_not_found',
      'store_not_found',
      'currency_mismatch',
      'recovery_required',
    ],
    handler: async (request, reply) => {
      const clientOperationId = resolveOperationId(request.headers, request.body.clientOperationId);
      const body = { ...request.body, ...defined({ clientOperationId }) };
      if (body.dryRun === true) return planCaptures(ports, request.caller, body);
      ports.numbering.requireAvailable();
      const { batch, replayed } = await captureAll(ports, request.caller, body);
      setReplayedHeader(reply, replayed);
      reply.code(202).header('Location', `${batchesPath}/${batch.batchId}`);
      return batch;
    },
  });
  // In a document the second path and `…/{transactionId}/capture` are ambiguous (ADR 0009).
  const addresses = [
    { url: `${batchesPath}/:batchId` },
    {
      url: `${transactionsPath}/captureall/:batchId`,
      pathForms: { batchId: uuidForm },
      isHidden: true,
    },
  ];
  for (const address of addresses) {
    route(app, {
      ...address,
      method: 'GET',
      operationId: 'getCaptureBatch',
      summary: 'Get a capture batch with its items',
      description: `\`${transactionsPath}/captureall/{batchId}\` is a second address of the batch.`,
      ...paymentRoute,
      permission: ['pay.capture', 'pay.read'],
      priority: 'list',
      params: idParams('batchId'),
      query: ItemsQuery,
      response: { 200: Batch },
      errors: ['batch_not_found', 'database_unavailable'],
      handler: ({ caller, params, query }) =>
        findBatch(ports, caller, params.batchId, {
          after: query.cursor,
          limit: query.limit ?? defaultPageSize,
        }),
    });
  }
}
