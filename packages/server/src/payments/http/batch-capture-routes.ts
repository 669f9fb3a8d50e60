// The routes of the capture of all.
import { Batch, CaptureAllRequest, defined } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { route } from '../../http/index.ts';
import { type CaptureAllDeps, captureAll, findBatch } from '../batch-capture/batch-capture.ts';
import {
  idempotencyHeaders,
  identifierErrors,
  rateLimit,
  resolveOperationId,
  setReplayedHeader,
  tags,
  transactionsPath,
} from './route-schemas.ts';

const ItemsQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    cursor: Type.Optional(
      Type.String({ format: 'uuid', 'x-codes': { default: 'cursor_invalid' } }),
    ),
  },
  { additionalProperties: false },
);

const defaultPageSize = 50;

export function registerBatchCaptureRoutes(app: FastifyInstance, deps: CaptureAllDeps): void {
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/captureall`,
    operationId: 'captureAll',
    summary: 'Capture all authorised transactions',
    description: 'Or those named in `items`. Durable and resumable; a dry run only tells.',
    tags,
    rateLimit,
    permission: 'pay.capture',
    headers: idempotencyHeaders,
    bodyOptional: true,
    body: CaptureAllRequest,
    response: { 200: Batch, 202: Batch },
    answerHeaders: { 202: ['Location'] },
    errors: [
      ...identifierErrors,
      'transaction_not_found',
      'merchant_not_found',
      'store_not_found',
      'currency_mismatch',
    ],
    handler: async (request, reply) => {
      const clientOperationId = resolveOperationId(request.headers, request.body.clientOperationId);
      const { batch, replayed } = await captureAll(deps, request.caller, {
        ...request.body,
        ...defined({ clientOperationId }),
      });
      setReplayedHeader(reply, replayed);
      if (batch.dryRun !== true) {
        reply.code(202).header('Location', `${transactionsPath}/captureall/${batch.batchId}`);
      }
      return batch;
    },
  });
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/captureall/:batchId`,
    operationId: 'getCaptureAll',
    summary: 'A capture of all, with its items',
    tags,
    rateLimit,
    permission: ['pay.capture', 'pay.read'],
    priority: 'list',
    params: Type.Object({ batchId: Type.String({ format: 'uuid' }) }),
    query: ItemsQuery,
    response: { 200: Batch },
    errors: ['batch_not_found', 'database_unavailable'],
    handler: ({ caller, params, query }) =>
      findBatch(deps, caller, params.batchId, {
        after: query.cursor,
        limit: query.limit ?? defaultPageSize,
      }),
  });
}
