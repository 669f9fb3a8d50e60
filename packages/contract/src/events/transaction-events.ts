/** Events of card payments: each change of a transaction by the acquirer or the till. */
import { Type } from 'typebox';
import { ResponseSummary } from '../schemas/payments/answers.ts';
import {
  operationKinds,
  type TransactionEventType,
  transactionStates,
} from '../schemas/payments/enums.ts';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';
import { ClientIdentifier, wordOf } from '../schemas/values-and-problems/value-schemas.ts';
import { type EventDefinition, eventData, exampleIds, storeMembers } from './event-definition.ts';

/** Exhaustive: a new type does not compile without a description. */
export const transactionMeanings: Record<TransactionEventType, string> = {
  'transaction.received': 'The intent to charge the card is durable; nothing was sent yet.',
  'transaction.stored': 'An offline sale was taken in and waits for the acquirer.',
  'transaction.sent':
    'The offline sale may have left for the acquirer; it is repeated until answered.',
  'transaction.rerouted':
    'Nothing of the sale was sent; it goes to the next acquirer of the merchant.',
  'transaction.authorized': 'The acquirer approved and holds the amount.',
  'transaction.declined': 'The acquirer or the issuer declined.',
  'transaction.failed': 'Nothing reached the acquirer; no money moved.',
  'transaction.capture_pending': 'A capture is on its way and its amount is reserved.',
  'transaction.captured': 'The amount is captured, by an immediate sale or by a capture.',
  'transaction.confirmed':
    'The point of sale confirmed the approval; the platform no longer reverses the sale.',
  'transaction.capture_failed': 'The acquirer refused the capture; its amount is free again.',
  'transaction.cancel_pending': 'A cancel is on its way and its amount is reserved.',
  'transaction.cancelled': 'The acquirer released the amount, all of it or a part.',
  'transaction.cancel_failed': 'The acquirer refused the cancel; its amount is free again.',
  'transaction.refund_pending': 'A refund is on its way and its amount is reserved.',
  'transaction.refunded': 'The acquirer took the refund.',
  'transaction.refund_failed': 'The acquirer refused the refund; its amount is free again.',
  'transaction.reversal_queued':
    'The sale does not count; its reversal is durable and will be sent.',
  'transaction.reversed': 'The acquirer acknowledged the reversal.',
  'transaction.late_response':
    'An answer came after its time. The sale stays reversed; an approval is reversed once more.',
  'transaction.expired': 'The authorisation lapsed before all of it was captured.',
  'offline.gap_detected':
    'The terminal numbered offline sales that were not uploaded; data.missing lists their numbers.',
};

/**
 * Only in the event list of the transaction, because the answer to the till has the same content.
 */
const unpublished: ReadonlySet<string> = new Set(['transaction.received']);

const data = eventData({
  ...storeMembers,
  transactionId: identifier('The payment, by the identifier of the platform.'),
  clientTransactionId: ClientIdentifier,
  state: wordOf(transactionStates, { description: 'The state that this event led to.' }),
  amount: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The amount of the event, in minor units.' }),
  ),
  saleAmount: Type.Integer({
    minimum: 0,
    description: 'The requested amount of the sale, in minor units.',
  }),
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'Of all amounts (ISO 4217).' }),
  operation: Type.Optional(
    Type.Object(
      {
        operationId: identifier('The operation.'),
        number: Type.Integer({ minimum: 1 }),
        kind: wordOf(operationKinds),
        status: Type.String({ examples: ['Succeeded'] }),
      },
      { description: 'The capture, refund, cancel or reversal that moved on.' },
    ),
  ),
  response: Type.Optional(
    Type.Object(ResponseSummary.properties, { description: 'The response of the acquirer.' }),
  ),
  authorizationCode: Type.Optional(
    Type.String({ description: 'As the acquirer or the issuer gave it.' }),
  ),
  confirmBy: Type.Optional(
    Type.String({ format: 'date-time', description: 'Until when the till must confirm.' }),
  ),
  settlementDate: Type.Optional(
    Type.String({ format: 'date', description: 'The day of the store that a capture belongs to.' }),
  ),
  missing: Type.Optional(
    Type.Array(Type.Object({ first: Type.Integer(), last: Type.Integer() }), {
      description: 'Numbers that the terminal has counted and not uploaded.',
    }),
  ),
  reason: Type.Optional(
    Type.String({ description: 'A word for why.', examples: ['AcquirerUnavailable'] }),
  ),
});

const sale = {
  organizationId: exampleIds.organizationId,
  merchantId: exampleIds.merchantId,
  storeId: exampleIds.storeId,
  deviceId: exampleIds.deviceId,
  transactionId: '019823f4-11aa-7e75-9f44-6c3da0917f55',
  clientTransactionId: 'till-7-000123',
  state: 'Captured',
  amount: 1050,
  saleAmount: 1050,
  currency: 'EUR',
  response: { category: 'Approved', code: '00', reason: 'Approved' },
  authorizationCode: '123456',
  settlementDate: '2026-03-01',
  sequence: 2,
};

const gap = {
  ...sale,
  state: 'Stored',
  missing: [{ first: 41, last: 43 }],
  sequence: 3,
};

/** The published events of card payments. */
export const transactionEvents: readonly EventDefinition[] = Object.entries(transactionMeanings)
  .filter(([type]) => !unpublished.has(type))
  .map(([type, description]) => ({
    type,
    description,
    data,
    example: type === 'offline.gap_detected' ? gap : sale,
  }));
