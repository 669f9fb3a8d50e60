/** QR payments: the requests of terminals, the responses and the events. */
import { type Static, Type } from 'typebox';
import { ProviderFailure, ProviderPayer, QrDisplay } from '../../provider-spi/value-schemas.ts';
import {
  Amount,
  AnswerAmount,
  ClientIdentifier,
  Currency,
  PaymentIdentifier,
  pageOf,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

const strict = { additionalProperties: false } as const;

/**
 * The statuses of a QR payment. `Created`: the provider has not answered yet. `Pending`: it waits
 * for the consumer. All except the first four are final, and only a paid payment can be refunded.
 *
 * @example
 * qrStatuses.includes('Scanned'); // true
 */
export const qrStatuses = [
  'Created',
  'Pending',
  'Scanned',
  'Authorized',
  'Completed',
  'Declined',
  'Cancelled',
  'Expired',
  'Failed',
  'PartiallyRefunded',
  'Refunded',
] as const;
/** One of {@link qrStatuses}. */
export type QrStatus = (typeof qrStatuses)[number];

/**
 * The event types of a QR payment. The payment's own list contains all of them. The platform does
 * not publish these four:
 *
 * - `qr.created`: the stored intent.
 * - `qr.display`: a new picture.
 * - `qr.noted`: a provider's event without an effect.
 * - `qr.cancel_confirmed`: the provider's answer about a payment that had already ended.
 *
 * @example
 * const type: QrEventType = 'qr.completed';
 */
export const qrEventTypes = [
  'qr.created',
  'qr.pending',
  'qr.display',
  'qr.scanned',
  'qr.authorized',
  'qr.completed',
  'qr.declined',
  'qr.cancelled',
  'qr.expired',
  'qr.failed',
  'qr.cancel_pending',
  'qr.cancel_failed',
  'qr.cancel_confirmed',
  'qr.refund_pending',
  'qr.refunded',
  'qr.refund_failed',
  'qr.refund_unanswered',
  'qr.late_completion',
  'qr.held',
  'qr.resolved',
  'qr.noted',
] as const;
/** One of {@link qrEventTypes}. */
export type QrEventType = (typeof qrEventTypes)[number];

const PaymentAmount = Type.Object(
  { amount: Amount, currency: Currency },
  { ...strict, description: 'The amount that the consumer must pay.' },
);

const QrOrder = Type.Object(
  {
    orderId: Type.Optional(Uuid),
    orderDescription: Type.Optional(
      Type.String({ maxLength: 256, description: 'Free text about the order.' }),
    ),
  },
  { ...strict, description: 'The order that is paid.' },
);

/**
 * `POST /qrcode-payment/v1/transactions`: a terminal requests a QR payment.
 *
 * @example
 * const request: QrRequest = {
 *   paymentType: 'demopay', paymentScenario: 'consumerscan',
 *   clientTransactionId: crypto.randomUUID(), paymentAmount: { amount: 1050, currency: 'EUR' },
 * };
 */
export const QrRequest = Type.Object(
  {
    paymentType: Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$',
      description: 'A payment type of a service that is active for the device.',
      examples: ['demopay'],
    }),
    paymentScenario: Type.String({
      pattern:
        '^(?:[Cc][Oo][Nn][Ss][Uu][Mm][Ee][Rr]|[Mm][Ee][Rr][Cc][Hh][Aa][Nn][Tt])[Ss][Cc][Aa][Nn]$',
      maxLength: 12,
      description:
        'The scanning party, in any letter case. `consumerscan`: the consumer scans the terminal. `merchantscan`: the terminal scans the consumer. With a scannedPaymentId it is always `merchantscan`.',
      examples: ['consumerscan'],
    }),
    scannedPaymentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        description:
          'The code scanned from the consumer. The platform sends it to the provider and does not store it.',
        examples: ['281234567890123456'],
      }),
    ),
    clientTransactionId: Type.Optional(PaymentIdentifier),
    paymentAmount: PaymentAmount,
    order: Type.Optional(QrOrder),
  },
  { ...strict, description: 'A terminal asks for a QR payment.' },
);
/** The type of {@link QrRequest}, with the identifier of the payment. */
export type QrRequest = Static<typeof QrRequest> & { clientTransactionId: string };

const qrOperationStatuses = ['Pending', 'Unanswered', 'Succeeded', 'Declined', 'Failed'] as const;

/**
 * A cancel or a refund of a QR payment, or an automatic operation of the platform after its expiry
 * or a late payment.
 *
 * @example
 * const open = payment.operations.filter(({ status }) => status === 'Pending');
 */
export const QrOperation = Type.Object({
  operationId: Uuid,
  number: Type.Integer({ minimum: 1, description: 'Counts the operations of a payment.' }),
  kind: wordOf(['Cancel', 'Refund']),
  status: wordOf(qrOperationStatuses, {
    description:
      '`Pending`: the platform still requests the result. `Unanswered`: it stopped, the result is unknown and the payment is held. The other values are final.',
  }),
  amount: AnswerAmount,
  currency: Currency,
  cause: wordOf(['Merchant', 'Expiry', 'Unknown', 'LateCompletion', 'Resolution'], {
    description:
      'The cause: the merchant, the expiry time, a payment that the provider does not know, the automatic refund of a late payment, or the decision on a held payment.',
  }),
  clientOperationId: Type.Optional(ClientIdentifier),
  failure: Type.Optional(ProviderFailure),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
/** The type of {@link QrOperation}. */
export type QrOperation = Static<typeof QrOperation>;

const status = wordOf(qrStatuses, { description: 'The status of the payment.' });

const QrHold = Type.Object(
  {
    reason: wordOf(['AmountDiffers', 'CurrencyDiffers', 'RefundDeclined', 'RefundUnanswered'], {
      description:
        '`AmountDiffers`: the paid amount differs from the requested amount. `CurrencyDiffers`: paid in another currency. `RefundDeclined`: the provider declined the refund of a late payment. `RefundUnanswered`: a refund had no response for a long time.',
    }),
    amount: Type.Optional(AnswerAmount),
    currency: Type.Optional(Currency),
  },
  { description: 'An operator must check the payment before it continues.' },
);

const transactionMembers = {
  transactionId: Uuid,
  clientTransactionId: ClientIdentifier,
  status,
  answeredStatus: wordOf(qrStatuses, { description: 'The status in the first response.' }),
  merchantId: Uuid,
  storeId: Uuid,
  deviceId: Uuid,
  serviceId: Uuid,
  paymentType: Type.String({ examples: ['demopay'] }),
  paymentScenario: Type.String({
    description: 'As the terminal sent it.',
    examples: ['consumerscan'],
  }),
  effectiveScenario: wordOf(['consumerscan', 'merchantscan'], {
    description: 'Which of the two it is.',
  }),
  paymentAmount: Type.Object({ amount: AnswerAmount, currency: Currency }),
  paidAmount: AnswerAmount,
  refundedAmount: AnswerAmount,
  settledAmount: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'Settled outside of the platform, in place of a refund: the event of its resolution says how.',
    }),
  ),
  display: Type.Optional(QrDisplay),
  expiresAt: Timestamp,
  order: Type.Optional(Type.Object({ ...QrOrder.properties })),
  providerTransactionId: Type.Optional(
    Type.String({
      description: 'The identifier at the provider.',
      examples: ['P-20260301-000017'],
    }),
  ),
  payer: Type.Optional(ProviderPayer),
  failure: Type.Optional(ProviderFailure),
  hold: Type.Optional(QrHold),
  operations: Type.Array(QrOperation),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * A QR payment. `display` is present while the consumer can still pay.
 *
 * @example
 * const payment = (await response.json()) as QrTransaction;
 * if (payment.display?.type === 'image/png') show(payment.display.data);
 */
export const QrTransaction = Type.Object(transactionMembers, { description: 'A QR payment.' });
/** The type of {@link QrTransaction}. */
export type QrTransaction = Static<typeof QrTransaction>;

/**
 * An event of a QR payment, as its terminal receives it.
 *
 * @example
 * source.addEventListener('qr.completed', (message) => paid(JSON.parse(message.data) as QrEvent));
 */
export const QrEvent = Type.Object(
  {
    sequence: Type.Integer({ minimum: 1, description: 'Counts from 1 without a gap.' }),
    type: wordOf(qrEventTypes),
    at: Timestamp,
    status,
    display: Type.Optional(QrDisplay),
    expiresAt: Type.Optional(Timestamp),
    payer: Type.Optional(ProviderPayer),
    failure: Type.Optional(ProviderFailure),
    amount: Type.Optional(AnswerAmount),
    currency: Type.Optional(Currency),
    reason: Type.Optional(Type.String({ description: 'A word for why.', examples: ['Older'] })),
    actor: Type.Optional(
      Type.String({ description: 'The user that decided on the held payment.' }),
    ),
    note: Type.Optional(Type.String({ description: 'The note of the decision.' })),
    operation: Type.Optional(
      Type.Object({
        operationId: Uuid,
        number: Type.Integer({ minimum: 1 }),
        kind: wordOf(['Cancel', 'Refund']),
        status: wordOf(qrOperationStatuses),
        amount: AnswerAmount,
      }),
    ),
    provider: Type.Optional(
      Type.Object(
        {
          eventId: Uuid,
          type: Type.String({ examples: ['payment.completed'] }),
          sequence: Type.Integer({ minimum: 1 }),
          occurredAt: Timestamp,
        },
        { description: 'The event of the provider that brought it.' },
      ),
    ),
  },
  { description: 'An event of a QR payment.' },
);
/** The type of {@link QrEvent}. */
export type QrEvent = Static<typeof QrEvent>;

/**
 * A QR payment with all its events.
 *
 * @example
 * const { events } = (await response.json()) as QrTransactionWithEvents;
 */
export const QrTransactionWithEvents = Type.Object(
  { ...transactionMembers, events: Type.Array(QrEvent) },
  { description: 'A QR payment with all its events.' },
);
/** The type of {@link QrTransactionWithEvents}. */
export type QrTransactionWithEvents = Static<typeof QrTransactionWithEvents>;

/**
 * A page of QR payments, the newest first.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as { items: QrTransaction[]; nextCursor: string | null };
 */
export const QrTransactionList = pageOf(QrTransaction);

/**
 * The events of a QR payment that its terminal has not received yet.
 *
 * @example
 * const { events, nextAfter } = (await response.json()) as QrEvents;
 */
export const QrEventList = Type.Object({
  events: Type.Array(QrEvent),
  nextAfter: Type.Integer({ minimum: 0, description: 'Send it as ?after= to go on.' }),
  isFinal: Type.Boolean({
    description:
      'The payment has ended, and no cancel or refund is under way. The status can be final earlier.',
  }),
});
/** The type of {@link QrEventList}. */
export type QrEventList = Static<typeof QrEventList>;

/**
 * `POST /qrcode-payment/v1/transactions/{transactionId}/cancel`.
 *
 * @example
 * const request: QrCancelRequest = { clientOperationId: crypto.randomUUID() };
 */
export const QrCancelRequest = Type.Object(
  { clientOperationId: Type.Optional(ClientIdentifier) },
  { ...strict, description: 'The payment is not to be made.' },
);
/** The type of {@link QrCancelRequest}. */
export type QrCancelRequest = Static<typeof QrCancelRequest>;

/**
 * `POST /qrcode-payment/v1/transactions/{transactionId}/refund`: the whole remaining amount, or a
 * part.
 *
 * @example
 * const request: QrRefundRequest = { amount: 400, clientOperationId: crypto.randomUUID() };
 */
export const QrRefundRequest = Type.Object(
  {
    amount: Type.Optional(Amount),
    currency: Type.Optional(Currency),
    clientOperationId: Type.Optional(ClientIdentifier),
  },
  { ...strict, description: 'Gives back all that is left, or a part of it.' },
);
/** The type of {@link QrRefundRequest}. */
export type QrRefundRequest = Static<typeof QrRefundRequest>;

/**
 * A QR payment after a cancel or a refund, with that operation.
 *
 * @example
 * const { status, operation } = (await response.json()) as QrOperationAnswer;
 */
export const QrOperationAnswer = Type.Object(
  { ...transactionMembers, operation: Type.Optional(QrOperation) },
  { description: 'The payment, with the requested operation.' },
);
/** The type of {@link QrOperationAnswer}. */
export type QrOperationAnswer = Static<typeof QrOperationAnswer>;

/**
 * The effect of a provider's event at the platform.
 *
 * @example
 * if (qrEventResults.some((known) => known === body.result)) log(body.result);
 */
export const qrEventResults = ['Stored', 'UnderReview', 'Ignored', 'Duplicate'] as const;
/**
 * One of {@link qrEventResults}.
 *
 * @example
 * const result: QrEventResult = 'UnderReview';
 */
export type QrEventResult = (typeof qrEventResults)[number];

/**
 * The acknowledgement of a provider's event: the platform has stored it.
 *
 * @example
 * const { result } = (await response.json()) as QrEventReceipt; // 'Duplicate' with 200, the others with 202
 */
export const QrEventReceipt = Type.Object(
  {
    eventId: Uuid,
    transactionId: Uuid,
    result: wordOf(qrEventResults, {
      description:
        '`Stored`: durable, and it changed the payment, or the platform asks the provider about it. `UnderReview`: durable, and people decide, because the amount differs or the event contradicts an earlier one. `Ignored`: durable, and it changes nothing: older, already known, after the end, or of an unknown type. `Duplicate`: the platform had this event before.',
    }),
  },
  { description: 'The event is durable.' },
);
/** The type of {@link QrEventReceipt}. */
export type QrEventReceipt = Static<typeof QrEventReceipt>;
