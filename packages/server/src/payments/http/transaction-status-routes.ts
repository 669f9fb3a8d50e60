// Routes: transaction status and availability.
import { Availability, TransactionWithEvents } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { route } from '../../http/index.ts';
import { type AvailabilityPorts, getAvailability } from '../runtime/acquirer-availability.ts';
import { getTransaction, type ReadPorts } from '../runtime/long-poll-transaction.ts';
import {
  rateLimit,
  TransactionParams,
  tags,
  transactionErrors,
  transactionsPath,
} from './transaction-route-parts.ts';
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

export function registerReadRoutes(
  app: FastifyInstance,
  ports: ReadPorts & AvailabilityPorts,
): void {
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/:transactionId`,
    operationId: 'getTransaction',
    summary: 'A transaction with its events',
    tags,
    rateLimit,
    permission: 'pay.read',
    priority: 'last',
    params: TransactionParams,
    query: WaitQuery,
    response: { 200: TransactionWithEvents },
    errors: transactionErrors,
    handler: async ({ caller, params, query }) =>
      viewWithEvents(
        await getTransaction(ports, caller, {
          identifier: params.transactionId,
          merchantId: query.merchantId,
          waitSeconds: query.wait ?? 0,
        }),
      ),
  });
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/technical/isAvailable`,
    operationId: 'getAvailability',
    summary: 'Whether payments can be taken',
    tags,
    rateLimit,
    permission: ['pay.sale', 'pay.read'],
    priority: 'last',
    response: { 200: Availability },
    errors: [],
    handler: async ({ caller }) => getAvailability(ports, caller),
  });
}
