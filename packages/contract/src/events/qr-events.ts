/** Events of QR payments, caused by answers and events of the provider. */
import { Type } from 'typebox';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';
import {
  AnswerAmount,
  ClientIdentifier,
  Currency,
} from '../schemas/values-and-problems/value-schemas.ts';
import { type EventDefinition, eventData, exampleIds, storeMembers } from './event-definition.ts';

const meanings = {
  'qr.pending': 'The provider has taken the payment; the code can be shown.',
  'qr.scanned': 'The consumer has scanned the code, or it was scanned from the consumer.',
  'qr.authorized': 'The provider holds the amount.',
  'qr.completed': 'The provider has taken the money.',
  'qr.declined': 'The provider or the consumer declined.',
  'qr.cancelled':
    'The payment was cancelled. If `paidAmount` is present, the consumer paid and the platform refunds the amount.',
  'qr.expired': 'The consumer did not pay in time.',
  'qr.failed': 'The payment could not be made; no money moved.',
  'qr.cancel_pending': 'A cancel is on its way to the provider.',
  'qr.cancel_failed': 'The provider refused the cancel.',
  'qr.refund_pending': 'A refund is on its way and its amount is reserved.',
  'qr.refunded': 'The provider has paid back.',
  'qr.refund_failed': 'The provider refused the refund; its amount is free again.',
  'qr.refund_unanswered':
    'A refund had no response for a long time and the platform stopped its requests: an operator must check it.',
  'qr.late_completion': 'Paid after it was cancelled or had expired: it is paid back by itself.',
  'qr.held': 'The report of the provider does not match the payment: an operator must check it.',
  'qr.resolved': 'A payment that was held was decided.',
};

const data = eventData({
  ...storeMembers,
  transactionId: identifier('The QR payment.'),
  clientTransactionId: ClientIdentifier,
  serviceId: Type.Optional(identifier('The service whose provider takes the payment.')),
  paymentType: Type.String({
    description: 'As the terminal asked for it.',
    examples: ['DEMO_QR'],
  }),
  status: Type.String({ description: 'That this event led to.', examples: ['Completed'] }),
  amount: AnswerAmount,
  currency: Currency,
  providerTransactionId: Type.Optional(
    Type.String({ description: 'The identifier of the provider.' }),
  ),
  refundId: Type.Optional(identifier('The refund.')),
  refundAmount: Type.Optional(AnswerAmount),
  paidAmount: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The amount that the consumer paid, if this event reports it; not for a refund.',
    }),
  ),
  paidCurrency: Type.Optional(
    Type.String({
      description: 'That of `paidAmount`, where it is not `currency`.',
      examples: ['USD'],
    }),
  ),
  payer: Type.Optional(
    Type.Object(
      { maskedId: Type.Optional(Type.String()) },
      { description: 'Masked by the provider.' },
    ),
  ),
  failure: Type.Optional(
    Type.Object({ code: Type.Optional(Type.String()), text: Type.Optional(Type.String()) }),
  ),
  reason: Type.Optional(Type.String({ description: 'A word for why.' })),
});

const example = {
  ...exampleIds,
  transactionId: '019823f5-22bb-7f86-8a55-7d4eb1a28066',
  clientTransactionId: 'till-7-000124',
  paymentType: 'DEMO_QR',
  status: 'Completed',
  amount: 1050,
  currency: 'EUR',
  providerTransactionId: 'P-20260301-77',
  sequence: 4,
};

/** The published events of QR payments. */
export const qrEvents: readonly EventDefinition[] = Object.entries(meanings).map(
  ([type, description]) => ({ type, description, data, example }),
);
