/** Schemas of the payment search: by cards and by codes, over all merchants that a caller sees. */
import { type Static, Type } from 'typebox';
import { responseCategories } from '../../response-codes.ts';
import { TransactionWithEvents } from '../payments/answers.ts';
import { entryModes, transactionStates } from '../payments/enums.ts';
import { QrTransactionWithEvents, qrStatuses } from '../qr/qr-payments.ts';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import {
  Amount,
  AnswerAmount,
  ClientIdentifier,
  Currency,
  pageOf,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

/**
 * The kinds of payments: a card payment, or a payment with a scanned code.
 *
 * @example
 * paymentKinds.includes('Qr'); // true
 */
export const paymentKinds = ['Card', 'Qr'] as const;
/** One of {@link paymentKinds}. */
export type PaymentKind = (typeof paymentKinds)[number];

/**
 * The states of payments of both kinds: {@link transactionStates}, and the other {@link
 * qrStatuses}.
 *
 * @example
 * paymentStates.includes('Completed'); // true
 */
export const paymentStates: readonly string[] = [...new Set([...transactionStates, ...qrStatuses])];

/** A pattern of one or more words, separated by commas. */
const oneOrMore = (word: string) => `^(?:${word})(?:,(?:${word}))*$`;

const anyOf = (words: readonly string[], description: string) =>
  Type.String({
    pattern: oneOrMore(words.join('|')),
    maxLength: 512,
    description: `${description} Several with commas: any of them.`,
    examples: [words.slice(0, 2).join(',')],
  });

/**
 * The currencies of a search, separated by commas.
 *
 * @example
 * new RegExp(currencyListPattern).test('EUR,USD');
 */
export const currencyListPattern = oneOrMore('[A-Z]{3}');

const schemeWord = '[A-Za-z][A-Za-z0-9._-]{0,63}';

/**
 * The common filters of payments; spread them into the query of a search or of a summary.
 *
 * @example
 * const query = Type.Object({ ...paymentFilters });
 */
export const paymentFilters = {
  merchantId: Type.Optional(identifier('Payments of this merchant.')),
  storeId: Type.Optional(identifier('Payments of this store.')),
  deviceId: Type.Optional(identifier('Payments of this logical device.')),
  kind: Type.Optional(wordOf(paymentKinds, { description: 'By what was paid.' })),
  scheme: Type.Optional(
    Type.String({
      pattern: oneOrMore(schemeWord),
      maxLength: 512,
      description:
        'The scheme of the card, or the payment type of a QR payment. Several with commas: any of them.',
      examples: ['Visa,Mastercard'],
    }),
  ),
  currency: Type.Optional(
    Type.String({
      pattern: currencyListPattern,
      maxLength: 255,
      description: 'ISO 4217 codes. Several with commas: any of them.',
      examples: ['EUR'],
    }),
  ),
  responseCategory: Type.Optional(anyOf(responseCategories, 'The category of the response.')),
  entryMode: Type.Optional(anyOf(entryModes, 'How the card was read.')),
};

/**
 * The filters of the payment search; spread them into the query of the list.
 *
 * @example
 * const query = Type.Object({ ...paymentSearch });
 */
export const paymentSearch = {
  ...paymentFilters,
  from: Type.Optional({ ...Timestamp, description: 'Payments made at this time and later.' }),
  to: Type.Optional({ ...Timestamp, description: 'Payments made before this time.' }),
  state: Type.Optional(anyOf(paymentStates, 'The state of the payment.')),
  amountMin: Type.Optional({ ...Amount, minimum: 0, description: 'This amount and more.' }),
  amountMax: Type.Optional({ ...Amount, minimum: 0, description: 'This amount and less.' }),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[!-~]+$',
      description:
        'A reference, whole: transactionId, clientTransactionId, orderId, retrievalReferenceNumber, authorizationCode, card token, or the last four digits of the card.',
      examples: ['1111'],
    }),
  ),
  order: Type.Optional(
    wordOf(['NewestFirst', 'OldestFirst'], {
      default: 'NewestFirst',
      description: 'Which end the list begins at.',
    }),
  ),
};

const paymentMembers = {
  transactionId: Uuid,
  kind: wordOf(paymentKinds, { description: 'By what was paid.' }),
  clientTransactionId: ClientIdentifier,
  merchantId: identifier('The merchant.'),
  storeId: Type.Optional(identifier('The store.')),
  deviceId: Type.Optional(identifier('The logical device.')),
  state: Type.Enum([...paymentStates], {
    type: 'string',
    description: 'The state of the payment; for a QR payment its status.',
    examples: ['Captured'],
  }),
  amount: AnswerAmount,
  currency: Currency,
  authorizedAmount: AnswerAmount,
  capturedAmount: AnswerAmount,
  cancelledAmount: AnswerAmount,
  refundedAmount: AnswerAmount,
  scheme: Type.Optional(
    Type.String({
      description: 'The scheme of the card, or the payment type of a QR payment.',
      examples: ['Visa'],
    }),
  ),
  maskedNumber: Type.Optional(
    Type.String({ description: 'The number of the card, masked.', examples: ['411111******1111'] }),
  ),
  cardToken: Type.Optional(Type.String({ description: 'The token of the card.' })),
  entryMode: Type.Optional(wordOf(entryModes, { description: 'How the card was read.' })),
  response: Type.Optional(
    closed(
      {
        category: wordOf(responseCategories, { description: 'The category of the response.' }),
        code: Type.Optional(Type.String({ description: 'DE39 as received.', examples: ['51'] })),
        reason: Type.Optional(
          Type.String({ description: 'Why, in a word.', examples: ['InsufficientFunds'] }),
        ),
      },
      'The response to the payment.',
    ),
  ),
  authorizationCode: Type.Optional(Type.String({ description: 'DE38.', examples: ['A1B2C3'] })),
  retrievalReferenceNumber: Type.Optional(
    Type.String({ description: 'DE37.', examples: ['606012000017'] }),
  ),
  orderId: Type.Optional(Type.String({ description: 'The order that was paid.' })),
  offline: Type.Optional(
    Type.Boolean({ description: 'Approved by the terminal alone, and uploaded later.' }),
  ),
  day: Type.String({
    format: 'date',
    description: 'The day of the store, in its time zone, on which the payment counts.',
    examples: ['2026-03-01'],
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * A payment as one line of the search, without its operations.
 *
 * @example
 * const { items } = (await response.json()) as { items: ReportedPayment[] };
 */
export const ReportedPayment = closed(paymentMembers, 'A payment.');
/** The type of {@link ReportedPayment}. */
export type ReportedPayment = Static<typeof ReportedPayment>;

/**
 * One page of payments. A page may have fewer items than requested, or none, before the last one.
 * The last page has no `nextCursor`.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof ReportedPaymentPage>;
 */
export const ReportedPaymentList = pageOf(ReportedPayment);

/**
 * `GET /reporting/v1/transactions/{transactionId}`: the payment with all its data, in `card` or in
 * `qr`.
 *
 * @example
 * const { card } = (await response.json()) as ReportedPaymentDetail;
 * for (const event of card?.events ?? []) show(event);
 */
export const ReportedPaymentDetail = closed(
  {
    kind: wordOf(paymentKinds, { description: 'By what was paid.' }),
    card: Type.Optional(TransactionWithEvents),
    qr: Type.Optional(QrTransactionWithEvents),
  },
  'A payment with its operations and events.',
);
/** The type of {@link ReportedPaymentDetail}. */
export type ReportedPaymentDetail = Static<typeof ReportedPaymentDetail>;
