/**
 * The requests of the platform to a provider of QR payments, and their answers: the provider SPI,
 * version 1. `events-from-provider.ts` has the events of the provider, `signed-calls.ts` the signatures.
 */
import { type Static, Type } from 'typebox';
import {
  messageSchema,
  moment,
  ProviderAmount,
  ProviderFailure,
  ProviderPayer,
  ProviderPaymentStatus,
  ProviderRefundStatus,
  platformTransactionId,
  providerId,
  providerTransactionId,
  QrDisplay,
  uuid,
} from './value-schemas.ts';

const name = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });

/**
 * The merchant and place of a payment; the platform adds them to the terminal's request.
 *
 * @example
 * const { merchantId, terminalId, mcc } = payment.merchant;
 */
export const ProviderMerchant = messageSchema(
  {
    merchantId: uuid('The merchant at the platform.'),
    name: name('The merchant’s name.'),
    externalId: Type.Optional(name('The identifier of the merchant at the acquirer.')),
    acquirerId: uuid('The acquirer that the merchant belongs to.'),
    acquirerName: Type.Optional(name('The acquirer’s name.')),
    acquirerMerchantId: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9]{1,15}$',
        description: 'The merchant’s number at the acquirer, where there is a contract.',
      }),
    ),
    storeId: uuid('The store.'),
    storeName: name('The store’s name.'),
    terminalId: uuid('The place of the terminal; it stays where the hardware is changed.'),
    mcc: Type.Optional(
      Type.String({ pattern: '^[0-9]{4}$', description: 'Merchant category code, ISO 18245.' }),
    ),
    country: Type.String({
      pattern: '^[A-Z]{2}$',
      description: 'Where the store is, ISO 3166-1.',
      examples: ['DE'],
    }),
    city: Type.Optional(name('Where the store is.')),
    timeZone: Type.Optional(
      Type.String({ maxLength: 64, description: 'Of the store, a name of the IANA database.' }),
    ),
  },
  'The location of the payment, which the platform adds to the request of the terminal.',
);
export type ProviderMerchant = Static<typeof ProviderMerchant>;

/**
 * `POST /qr-payments`: begins a payment. A repeated `platformTransactionId` is the same payment.
 *
 * @example
 * const payment = JSON.parse(body) as CreateQrPayment;
 */
export const CreateQrPayment = messageSchema(
  {
    platformTransactionId,
    clientTransactionId: Type.String({
      pattern: '^[A-Za-z0-9._:-]{1,64}$',
      description: 'The terminal’s name for the payment.',
    }),
    serviceId: uuid('The service of the catalogue that the payment is for.'),
    paymentType: Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$',
      description: 'One of the payment types of the service.',
      examples: ['demopay'],
    }),
    paymentScenario: Type.Enum(['consumerscan', 'merchantscan'], {
      type: 'string',
      description:
        'The scanning party: the consumer scans the terminal, or the terminal scans the consumer.',
    }),
    scannedPaymentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description:
          'The code scanned from the consumer; always present with `merchantscan`. Treat it as card data and do not log it.',
      }),
    ),
    amount: ProviderAmount,
    order: Type.Optional(
      messageSchema(
        {
          orderId: Type.Optional(uuid('The order at the merchant.')),
          orderDescription: Type.Optional(Type.String({ maxLength: 500 })),
        },
        'The order that the consumer pays.',
      ),
    ),
    merchant: ProviderMerchant,
    createdAt: moment('When the terminal asked.'),
    expiresAt: moment('After this the platform takes no payment: it cancels.'),
    eventsUrl: Type.String({
      pattern: '^https?://',
      maxLength: 2000,
      description: 'Where the events of this payment go.',
    }),
  },
  'A payment begins.',
);
export type CreateQrPayment = Static<typeof CreateQrPayment>;

/**
 * The state of a payment: the answer to `POST /qr-payments`, to `GET /qr-payments/{id}` and to a
 * cancel.
 *
 * @example
 * const answer: QrPaymentAnswer = { providerTransactionId, status: 'Pending', display, pollAfterMs: 3000 };
 */
export const QrPaymentAnswer = messageSchema(
  {
    providerTransactionId,
    status: ProviderPaymentStatus,
    amount: Type.Optional(ProviderAmount),
    display: Type.Optional(QrDisplay),
    expiresAt: Type.Optional(
      moment('The time when the payment expires; not later than the requested time.'),
    ),
    pollAfterMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        description:
          'How long the platform waits for an event before it requests the status, ms. Default 60,000. The platform uses 500 for a lower value, and 60,000 for a higher one.',
      }),
    ),
    payer: Type.Optional(ProviderPayer),
    failure: Type.Optional(ProviderFailure),
  },
  'The state of a payment.',
);
export type QrPaymentAnswer = Static<typeof QrPaymentAnswer>;

/**
 * Why a payment is cancelled.
 *
 * @example
 * const reason: CancelReason = 'Expired';
 */
export const CancelReason = Type.Enum(['Merchant', 'Expired', 'Unknown'], {
  type: 'string',
  description: 'At the till; after its time; or because its outcome is not known to the platform.',
});
export type CancelReason = Static<typeof CancelReason>;

/**
 * `POST /qr-payments/{id}/cancel`: cancels the payment.
 *
 * @example
 * const message: CancelQrPayment = { platformTransactionId, reason: 'Expired', requestedAt };
 */
export const CancelQrPayment = messageSchema(
  {
    platformTransactionId,
    providerTransactionId: Type.Optional(providerTransactionId),
    reason: CancelReason,
    requestedAt: moment('The time of the cancel request.'),
  },
  'The payment is not to be made.',
);
export type CancelQrPayment = Static<typeof CancelQrPayment>;

/**
 * The answer to a cancel.
 *
 * - `Cancelled` is final, also for a payment that the provider never received. The provider stores
 *   it, so that a create request that arrives later makes nothing payable.
 * - `Completed`: the cancel was too late. The platform requests the status. It refunds a payment
 *   that the merchant cancelled. It completes a payment that it cancelled only because the state
 *   was unknown.
 *
 * @example
 * const answer: CancelAnswer = { status: 'Cancelled' };
 */
export const CancelAnswer = messageSchema(
  {
    providerTransactionId: Type.Optional(providerTransactionId),
    status: ProviderPaymentStatus,
    failure: Type.Optional(ProviderFailure),
  },
  'The state of the payment after the cancel.',
);
export type CancelAnswer = Static<typeof CancelAnswer>;

const refundId = uuid('The refund at the platform. It names this refund for ever.');

/**
 * `POST /qr-payments/{id}/refunds`: refunds a paid amount, completely or partially.
 *
 * @example
 * const message: RefundQrPayment = { refundId, platformTransactionId, amount: { amount: 400, currency: 'EUR' }, requestedAt };
 */
export const RefundQrPayment = messageSchema(
  {
    refundId,
    platformTransactionId,
    providerTransactionId: Type.Optional(providerTransactionId),
    amount: ProviderAmount,
    reason: Type.Optional(
      Type.Enum(['Merchant', 'CompletedAfterCancel'], {
        type: 'string',
        description: 'At the till, or because it was paid after it was cancelled.',
      }),
    ),
    requestedAt: moment('The time of the refund request.'),
  },
  'Gives paid money back, all of it or a part.',
);
export type RefundQrPayment = Static<typeof RefundQrPayment>;

/**
 * The state of a refund. An event ends a `Pending` refund, or the platform requests its state.
 *
 * @example
 * const answer: RefundAnswer = { refundId, status: 'Completed' };
 */
export const RefundAnswer = messageSchema(
  {
    refundId,
    providerRefundId: Type.Optional(providerId('The refund at the provider.')),
    status: ProviderRefundStatus,
    amount: Type.Optional(ProviderAmount),
    failure: Type.Optional(ProviderFailure),
  },
  'The state of a refund.',
);
export type RefundAnswer = Static<typeof RefundAnswer>;

/**
 * The answer to `GET /health`. The platform sends no payments to a provider that is `Down`.
 *
 * @example
 * const answer: HealthAnswer = { status: 'Up' };
 */
export const HealthAnswer = messageSchema(
  {
    status: Type.Enum(['Up', 'Down'], { type: 'string', description: '`Down`: no payments now.' }),
  },
  'Whether payments are taken.',
);
export type HealthAnswer = Static<typeof HealthAnswer>;

/**
 * The body of an answer with a status of 400 and above (RFC 9457). With 409 to a cancel,
 * `paymentStatus` gives the state of the payment.
 *
 * @example
 * const problem: ProviderProblem = { code: 'already_final', title: 'It is paid.', paymentStatus: 'Completed' };
 */
export const ProviderProblem = messageSchema(
  {
    title: Type.Optional(Type.String({ maxLength: 200 })),
    detail: Type.Optional(Type.String({ maxLength: 500 })),
    code: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })),
    paymentStatus: Type.Optional(ProviderPaymentStatus),
  },
  'Why a call was refused (RFC 9457).',
);
export type ProviderProblem = Static<typeof ProviderProblem>;
