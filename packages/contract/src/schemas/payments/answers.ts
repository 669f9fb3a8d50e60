/** The platform's responses to card payments. */
import { type Static, Type } from 'typebox';
import { addressChecks } from '../../address-verification.ts';
import { declineRetryAdvices, responseCategories } from '../../response-codes.ts';
import {
  AnswerAmount,
  ClientIdentifier,
  Currency,
  Metadata,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';
import {
  captureModes,
  entryModes,
  operationKinds,
  operationStatuses,
  salePurposes,
  transactionEventTypes,
  transactionStates,
} from './enums.ts';
import { OfflineData } from './offline.ts';
import { Order } from './requests.ts';

/**
 * The acquirer's response in the platform's terms. `code` is the received DE39.
 *
 * @example
 * if (transaction.response?.retry === 'OtherInterface') askToInsertCard();
 */
export const ResponseSummary = Type.Object({
  category: wordOf(responseCategories, {
    description:
      'The kind of answer. `SoftDecline`: another way or time can succeed. `HardDecline`: the same card cannot succeed. `TechnicalFailure`: a fault on the path to the issuer. `Unknown`: no answer, or a code that is in no table; never an approval.',
  }),
  code: Type.Optional(Type.String({ description: 'DE39 as received.', examples: ['51'] })),
  reason: Type.Optional(
    Type.String({
      description:
        'Without a `code`: why there is none. The category is `Unknown` where a message may have arrived (`Timeout`, `ConnectionLost`, `InvalidResponse`, `Unanswered`), and `TechnicalFailure` where none was sent (`AcquirerUnavailable`).',
      examples: ['InsufficientFunds'],
    }),
  ),
  retry: Type.Optional(
    wordOf(declineRetryAdvices, {
      description:
        'The next step after a decline; absent after an approval. `Never`: none. `Later`: the same card later. `OtherCard`: another card. `WithPin`: the same card with a PIN. `OtherInterface`: the same card inserted instead of tapped. Each attempt is a new sale with a new clientTransactionId.',
    }),
  ),
});
/** The type of {@link ResponseSummary}. */
export type ResponseSummary = Static<typeof ResponseSummary>;

/**
 * One operation of a transaction. `number` counts the operations of a transaction from 1.
 *
 * @example
 * const open = transaction.operations.filter((operation) => operation.status === 'Pending');
 */
export const Operation = Type.Object({
  operationId: Uuid,
  number: Type.Integer({ minimum: 1 }),
  kind: wordOf(operationKinds),
  status: wordOf(operationStatuses),
  amount: AnswerAmount,
  currency: Currency,
  clientOperationId: Type.Optional(ClientIdentifier),
  response: Type.Optional(ResponseSummary),
  approvalCodeId: Type.Optional(
    Type.String({ format: 'uuid', description: 'The approval code that approved it.' }),
  ),
  cancelReason: Type.Optional(wordOf(['Technical', 'Functional'])),
  reversalReason: Type.Optional(
    wordOf(['ChipDeclined', 'CardRemoved', 'Timeout', 'CustomerCancel']),
  ),
  settlementDate: Type.Optional(
    Type.String({ format: 'date', description: 'The day of the store that a capture belongs to.' }),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
/** The type of {@link Operation}. */
export type Operation = Static<typeof Operation>;

/**
 * One copy of a receipt, without an expiry date or a full card number. The cardholder's copy shows
 * only the last four digits.
 *
 * @example
 * print(transaction.receipt?.cardholder);
 */
export const ReceiptCopy = Type.Object({
  merchantName: Type.String(),
  merchantAddress: Type.Optional(Type.String()),
  acquirerMerchantId: Type.Optional(Type.String()),
  terminalId: Type.Optional(Type.String()),
  at: Timestamp,
  operation: Type.String({ examples: ['Sale'] }),
  amount: AnswerAmount,
  currency: Currency,
  amountText: Type.String({ examples: ['10.50 EUR'] }),
  scheme: Type.Optional(Type.String()),
  maskedNumber: Type.Optional(Type.String({ examples: ['411111******1111'] })),
  panSequence: Type.Optional(Type.String()),
  entryMode: Type.String(),
  applicationId: Type.Optional(Type.String({ description: 'AID (tag 84 or 9F06).' })),
  applicationLabel: Type.Optional(Type.String({ description: 'Tag 9F12 or 50.' })),
  cryptogram: Type.Optional(Type.String({ description: 'Tag 9F26.' })),
  cryptogramInformation: Type.Optional(Type.String({ description: 'Tag 9F27.' })),
  terminalVerificationResults: Type.Optional(Type.String({ description: 'Tag 95.' })),
  transactionStatusInformation: Type.Optional(Type.String({ description: 'Tag 9B.' })),
  authorizationResponseCode: Type.Optional(Type.String({ description: 'Tag 8A.' })),
  cardholderVerification: Type.Optional(wordOf(['PinVerified', 'Signature', 'OnDevice', 'None'])),
  authorizationCode: Type.Optional(Type.String()),
  retrievalReferenceNumber: Type.Optional(Type.String()),
  systemTraceAuditNumber: Type.Optional(Type.String()),
  responseText: Type.String({ examples: ['APPROVED'] }),
  acquirerText: Type.Optional(Type.String({ description: 'Text of the acquirer.' })),
  responseReason: Type.Optional(
    Type.String({
      description: 'Why it was declined; on the copy of the merchant alone.',
      examples: ['InsufficientFunds'],
    }),
  ),
});
/** The type of {@link ReceiptCopy}. */
export type ReceiptCopy = Static<typeof ReceiptCopy>;

const transactionMembers = {
  transactionId: Uuid,
  clientTransactionId: ClientIdentifier,
  merchantId: Type.Optional(Uuid),
  storeId: Type.Optional(Uuid),
  deviceId: Type.Optional(Uuid),
  purpose: Type.Optional(wordOf(salePurposes)),
  stepUpOf: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'The declined sale that this one repeated with PIN or chip.',
    }),
  ),
  state: wordOf(transactionStates),
  approved: Type.Boolean({
    description:
      'Whether the sale is approved. False also in the state `Received`, in which no outcome is known yet.',
  }),
  answeredState: wordOf(transactionStates, {
    description: 'The state that the sale was first answered with.',
  }),
  amount: AnswerAmount,
  currency: Currency,
  authorizedAmount: AnswerAmount,
  capturedAmount: AnswerAmount,
  cancelledAmount: AnswerAmount,
  refundedAmount: AnswerAmount,
  captureMode: wordOf(captureModes),
  entryMode: wordOf(entryModes),
  card: Type.Optional(
    Type.Object({
      scheme: Type.String({ examples: ['Visa'] }),
      maskedNumber: Type.String({ examples: ['411111******1111'] }),
      token: Type.Optional(Type.String()),
    }),
  ),
  response: Type.Optional(ResponseSummary),
  authorizationCode: Type.Optional(Type.String({ description: 'DE38.' })),
  retrievalReferenceNumber: Type.Optional(Type.String({ description: 'DE37.' })),
  systemTraceAuditNumber: Type.Optional(Type.String({ description: 'DE11.' })),
  addressVerification: Type.Optional(
    Type.Object({
      street: wordOf(addressChecks, { description: 'The house number.' }),
      postal: wordOf(addressChecks, { description: 'The postal code.' }),
      raw: Type.Optional(Type.String({ description: 'The letter of the acquirer.' })),
    }),
  ),
  acquirerData: Type.Optional(
    Type.Object(
      {
        receiptText: Type.Optional(
          Type.String({ description: 'Text of the acquirer for the receipt.' }),
        ),
        networkReference: Type.Optional(
          Type.String({ description: 'Reference of the card scheme.' }),
        ),
        balance: Type.Optional(
          Type.Integer({ description: 'Available balance of the card, in minor units.' }),
        ),
      },
      { description: 'Data of the response, if the host table of the link names its fields.' },
    ),
  ),
  emvResponse: Type.Optional(
    Type.String({ description: 'Tags 91, 71, 72, 8A and 89 of the issuer, BER-TLV in hex.' }),
  ),
  confirmBy: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'Until when the approved sale must be confirmed; absent where nothing is awaited any more.',
      examples: ['2026-03-01T12:30:30.000Z'],
    }),
  ),
  offlineTransaction: Type.Optional(
    Type.Boolean({ description: 'Whether it was approved by the terminal alone and uploaded.' }),
  ),
  offlineData: Type.Optional(OfflineData),
  terminalAction: Type.Optional(
    wordOf(['Approve', 'Decline', 'AskPin', 'UseChip'], {
      description: 'The next action of the terminal; while Reversing it is always Decline.',
    }),
  ),
  receipt: Type.Optional(
    Type.Object(
      { merchant: ReceiptCopy, cardholder: ReceiptCopy },
      {
        description:
          'The receipt of the sale; in the response to a refund, the receipt of the refund.',
      },
    ),
  ),
  order: Type.Optional(Order),
  metadata: Type.Optional(Metadata),
  settlementDate: Type.Optional(
    Type.String({
      format: 'date',
      description: 'The day of the store that a sale captured at once is settled with.',
    }),
  ),
  operations: Type.Array(Operation),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * The response to a sale and to every operation on it: the current transaction.
 *
 * @example
 * const transaction = (await response.json()) as Transaction;
 * if (transaction.approved) handOverGoods();
 */
export const Transaction = Type.Object(transactionMembers, {
  description: 'The current state of a transaction.',
});
/** The type of {@link Transaction}. */
export type Transaction = Static<typeof Transaction>;

/**
 * The response to a capture, refund or cancel: the transaction and the new operation.
 *
 * @example
 * const { operation } = (await response.json()) as OperationAnswer;
 * if (operation?.status === 'Pending') askAgainLater();
 */
export const OperationAnswer = Type.Object(
  { ...transactionMembers, operation: Type.Optional(Operation) },
  { description: 'The current state of the transaction, and the operation of this request.' },
);
/** The type of {@link OperationAnswer}. */
export type OperationAnswer = Static<typeof OperationAnswer>;

/**
 * One event of a transaction. `sequence` has no gaps.
 *
 * @example
 * const event: TransactionEvent = { sequence: 1, type: 'transaction.received', at, data: {} };
 */
export const TransactionEvent = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  type: wordOf(transactionEventTypes),
  at: Timestamp,
  data: Type.Record(Type.String(), Type.Unknown(), { additionalProperties: true }),
});
/** The type of {@link TransactionEvent}. */
export type TransactionEvent = Static<typeof TransactionEvent>;

/**
 * `GET …/{transactionId}`: the transaction with all its events.
 *
 * @example
 * const { events } = (await response.json()) as TransactionWithEvents;
 */
export const TransactionWithEvents = Type.Object(
  { ...transactionMembers, events: Type.Array(TransactionEvent) },
  { description: 'A transaction with all its events.' },
);
/** The type of {@link TransactionWithEvents}. */
export type TransactionWithEvents = Static<typeof TransactionWithEvents>;

/**
 * The possible operations, and `Confirm` while a sale awaits its confirmation.
 *
 * @example
 * const verb: AllowedVerb = 'Confirm';
 */
export const allowedVerbs = [...operationKinds, 'Confirm'] as const;
/** One of {@link allowedVerbs}. */
export type AllowedVerb = (typeof allowedVerbs)[number];

/**
 * Whether an operation on a transaction is possible now; `reason` is the code of the refusal.
 * `Confirm` is listed while the sale awaits its confirmation.
 *
 * @example
 * const capture = allowed.operations.find((entry) => entry.operation === 'Capture');
 */
export const AllowedOperation = Type.Object({
  operation: wordOf(allowedVerbs),
  allowed: Type.Boolean(),
  maxAmount: AnswerAmount,
  currency: Currency,
  reason: Type.Optional(Type.String({ description: 'The error code of the refusal.' })),
});
/** The type of {@link AllowedOperation}. */
export type AllowedOperation = Static<typeof AllowedOperation>;

/**
 * `GET …/{transactionId}/allowedoperations`. The first members are about a refund or cancel by web.
 *
 * @example
 * const { allowed, maxAmount } = (await response.json()) as AllowedOperations;
 */
export const AllowedOperations = Type.Object({
  allowed: Type.Boolean(),
  maxAmount: AnswerAmount,
  currency: Currency,
  operation: Type.Union([Type.Literal('Refund'), Type.Literal('Cancel'), Type.Null()]),
  reason: Type.Optional(Type.String({ description: 'The error code of the refusal.' })),
  operations: Type.Array(AllowedOperation),
});
/** The type of {@link AllowedOperations}. */
export type AllowedOperations = Static<typeof AllowedOperations>;

/**
 * A capture of many transactions.
 *
 * @example
 * const batch = (await response.json()) as Batch;
 * if (batch.state === 'Completed') report(batch.failed);
 */
export const Batch = Type.Object({
  batchId: Uuid,
  state: wordOf(['Running', 'Completed']),
  total: Type.Integer({ minimum: 0 }),
  succeeded: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
  filed: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Captures that wait in a clearing file; the transaction shows their outcome later.',
    }),
  ),
  items: Type.Array(
    Type.Object({
      transactionId: Type.String(),
      status: wordOf(['Pending', 'Succeeded', 'Filed', 'Failed']),
      amount: Type.Optional(AnswerAmount),
      code: Type.Optional(Type.String({ description: 'The error code or decline reason.' })),
    }),
    { description: 'A page of them, in the order of the capture.' },
  ),
  nextCursor: Type.Union([Type.String(), Type.Null()], {
    description: 'Where the next page of items begins; null after the last.',
  }),
  createdAt: Timestamp,
  completedAt: Type.Optional(Timestamp),
});
/** The type of {@link Batch}. */
export type Batch = Static<typeof Batch>;

/**
 * The response to a dry run of a capture of all: the captures that it would make. Nothing is
 * stored.
 *
 * @example
 * const plan = (await response.json()) as CapturePlan;
 * console.log(`${plan.total} sales would be captured`);
 */
export const CapturePlan = Type.Object({
  dryRun: Type.Literal(true),
  total: Type.Integer({ minimum: 0 }),
  items: Type.Array(
    Type.Object({
      transactionId: Uuid,
      status: Type.Literal('Planned'),
      amount: AnswerAmount,
      currency: Currency,
    }),
    { description: 'The first 200 of `total`.' },
  ),
});
/** The type of {@link CapturePlan}. */
export type CapturePlan = Static<typeof CapturePlan>;

/**
 * `GET /transactions/technical/isAvailable`.
 *
 * @example
 * if ((availability as AcquirerAvailability).offlineAdvised) goOffline();
 */
export const AcquirerAvailability = Type.Object({
  available: Type.Boolean({ description: 'Whether at least one acquirer link is signed on.' }),
  offlineAdvised: Type.Boolean({ description: 'Whether a device should work offline.' }),
  links: Type.Array(Type.Object({ name: Type.String(), available: Type.Boolean() })),
});
/** The type of {@link AcquirerAvailability}. */
export type AcquirerAvailability = Static<typeof AcquirerAvailability>;
