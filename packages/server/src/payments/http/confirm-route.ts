// Route: confirm a sale.
import { ConfirmRequest, Transaction } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { route } from '../../http/index.ts';
import { type ConfirmPorts, confirmSale } from '../operations/confirm-sale.ts';
import { type FindPorts, findTransaction } from '../runtime/find-transaction.ts';
import {
  MerchantQuery,
  rateLimit,
  setReplayedHeader,
  TransactionParams,
  tags,
  transactionErrors,
  transactionsPath,
} from './transaction-route-parts.ts';
import { viewTransaction } from './transaction-view.ts';

export function registerConfirmRoute(app: FastifyInstance, ports: ConfirmPorts & FindPorts): void {
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/:transactionId/confirm`,
    operationId: 'confirmTransaction',
    summary: 'Confirm a sale',
    description:
      'For a sale with confirmWithinSeconds: without a confirmation in time the platform reverses the sale. ' +
      'A second confirmation, and one of a sale that needs none, changes nothing.',
    tags,
    rateLimit,
    permission: 'pay.sale',
    priority: 'last',
    bodyOptional: true,
    faultOutcome: 'Unknown',
    params: TransactionParams,
    query: MerchantQuery,
    body: ConfirmRequest,
    response: { 200: Transaction },
    answerHeaders: { 200: ['Idempotent-Replayed'] },
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
    handler: async ({ caller, params: { transactionId }, query }, reply) => {
      const found = await findTransaction(ports, caller, transactionId, query.merchantId);
      const { transaction, replayed } = await confirmSale(ports, found);
      setReplayedHeader(reply, replayed);
      return viewTransaction(transaction);
    },
  });
}
