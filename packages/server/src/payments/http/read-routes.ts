// The routes that only tell: status and availability.
import { Availability, TransactionWithEvents } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { route } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { status } from '../operations/get-transaction.ts';
import { availability } from '../operations/operation-availability.ts';
import { ByTransaction, base, ofTransaction, rateLimit, tags } from './route-schemas.ts';
import { viewWithEvents } from './transaction-view.ts';

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

export function registerReads(app: FastifyInstance, deps: PaymentsDeps): void {
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
    errors: ofTransaction,
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
