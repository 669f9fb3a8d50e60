// Route: process a sale.
import { type ErrorCode, ProcessRequest, refuse, Transaction } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type Caller, route, withClientTransactionId } from '../../http/index.ts';
import {
  isOfflineSale,
  type StoreOfflinePorts,
  storeOfflineSale,
} from '../offline/store-offline-sale.ts';
import { type PreparePorts, prepareSale } from '../sale/prepare-sale.ts';
import { type ProcessPorts, processSale } from '../sale/process-sale.ts';
import type { SaleResult } from '../sale/sale-intent.ts';
import { saleExamples } from './sale-examples.ts';
import {
  acceptedHeaders,
  identifierErrors,
  rateLimit,
  respondAccepted,
  saleIdempotencyHeaders,
  setReplayedHeader,
  tags,
  transactionsPath,
} from './transaction-route-parts.ts';
import { viewTransaction } from './transaction-view.ts';

const locationErrors: ErrorCode[] = [
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
  'entity_mismatch',
  'merchant_not_active',
  'store_not_active',
  'device_not_active',
];

export type SalePorts = PreparePorts & ProcessPorts & StoreOfflinePorts;

export function registerSaleRoute(app: FastifyInstance, ports: SalePorts): void {
  route(app, {
    method: 'POST',
    url: `${transactionsPath}/process`,
    operationId: 'processTransaction',
    summary: 'Process a sale',
    description:
      'Authorises, and captures at once where the capture mode is Immediate. A decline is not an ' +
      'error: it is answered 200 with the whole transaction. The same clientTransactionId with ' +
      'the same request is answered again, without a second effect. With confirmWithinSeconds the ' +
      'approval is reversed unless it is confirmed. With offlineTransaction it is Stored and sent ' +
      'on; the sequence number of the terminal stands for one sale, whose first identifier stays valid.',
    tags,
    permission: 'pay.sale',
    rateLimit,
    faultOutcome: 'Unknown',
    headers: saleIdempotencyHeaders,
    body: ProcessRequest,
    examples: saleExamples,
    response: { 200: Transaction, 202: Transaction },
    answerHeaders: acceptedHeaders,
    errors: [
      ...identifierErrors,
      ...locationErrors,
      'concurrent_modification',
      'acquirer_unavailable',
      'currency_unknown',
      'currency_not_supported',
      'entry_mode_invalid',
      'amount_zero',
      'instrument_invalid',
      'encrypted_data_invalid',
      'encryption_key_unknown',
      'hsm_unavailable',
      'ksn_reused',
      'pin_block_invalid',
      'pin_data_incomplete',
      'pin_format_unsupported',
      'pin_not_supported',
      'step_up_invalid',
      'transaction_not_found',
      'transaction_ambiguous',
      'avs_data_required',
      'moto_contact_required',
      'track_data_invalid',
      'card_number_invalid',
      'card_expired_input',
      'card_token_unknown',
      'card_keys_unavailable',
      'emv_data_invalid',
      'emv_data_mismatch',
      'capture_mode_not_supported',
      'partial_approval_not_supported',
      'clear_card_data_refused',
      'no_acquirer_for_merchant',
      'not_sent',
      'offline_limit_exceeded',
      'offline_sale_already_uploaded',
      'offline_sequence_reused',
      'offline_too_old',
      'terminal_range_exhausted',
      'too_late',
    ],
    handler: async (request, reply) => {
      const sale = withClientTransactionId(request.headers, request.body);
      const { transaction, replayed } = await processOrStore(ports, request.caller, sale);
      setReplayedHeader(reply, replayed);
      const { transactionId, clientTransactionId, state } = transaction.row;
      if (state === 'Failed') {
        refuse('not_sent', 'No message was sent. Retry with a new clientTransactionId.', {
          extensions: { transaction: { transactionId, clientTransactionId, state } },
        });
      }
      if (state === 'Received') respondAccepted(reply, transaction);
      return viewTransaction(transaction);
    },
  });
}

async function processOrStore(
  ports: SalePorts,
  caller: Caller,
  request: ProcessRequest,
): Promise<SaleResult> {
  const sale = await prepareSale(ports, caller, request);
  if ('replayed' in sale) return sale;
  return isOfflineSale(sale) ? storeOfflineSale(ports, sale) : processSale(ports, sale);
}
