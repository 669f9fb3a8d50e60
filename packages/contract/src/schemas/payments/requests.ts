/** The requests of card payments. */
import { amountMax } from '@switchyard/money';
import { type Static, Type } from 'typebox';
import {
  Amount,
  ClientIdentifier,
  Currency,
  fieldCodes,
  Metadata,
  PaymentIdentifier,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';
import { captureModes, entryModes, orderChannels, pinBlockFormats, salePurposes } from './enums.ts';
import { ChipObjects, Instrument, KeySerial } from './instrument.ts';
import { OfflineData } from './offline.ts';
import { ApprovalCodeText } from './supervisor-approval-codes.ts';

export * from './instrument.ts';

const strict = { additionalProperties: false } as const;

/**
 * Parts of the amount of a sale, in minor units of its currency.
 *
 * @example
 * const amounts: AmountParts = { tip: 200 };
 */
export const AmountParts = Type.Object(
  { tip: Type.Optional(Amount), cashback: Type.Optional(Amount) },
  {
    ...strict,
    minProperties: 1,
    description:
      'Parts of amount, which holds them: a tip, and cash that is handed out. Of a chip sale, cashback is tag 9F03.',
  },
);
/** The type of {@link AmountParts}. */
export type AmountParts = Static<typeof AmountParts>;

/**
 * The order that the customer pays.
 *
 * @example
 * const order: Order = { orderId: '4711', orderDescription: 'Table 12' };
 */
export const Order = Type.Object(
  {
    orderId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The order at the merchant.' }),
    ),
    orderDescription: Type.Optional(
      Type.String({ maxLength: 256, description: 'Free text about the order.' }),
    ),
  },
  { ...strict, description: 'The order that is paid.' },
);
/** The type of {@link Order}. */
export type Order = Static<typeof Order>;

/** The shortest and longest confirmation time of a sale, in seconds. */
const confirmWithinMin = 5;
const confirmWithinMax = 120;

/** Zero is only valid for a card verification; the server checks the rest of this rule. */
const SaleAmount = Type.Integer({
  minimum: 0,
  maximum: amountMax,
  description:
    'An amount in minor units of its currency (ISO 4217): 1050 EUR is 10.50 euro. 0 with purpose AccountVerification alone.',
  examples: [1050],
  ...fieldCodes({
    type: 'amount_invalid',
    minimum: 'amount_invalid',
    maximum: 'amount_too_large',
  }),
});

/**
 * `POST /payment/v1/transactions/process`: a sale.
 *
 * @example
 * const request: ProcessRequest = {
 *   clientTransactionId: 'till-7:000123', amount: 1050, currency: 'EUR', entryMode: 'Keyed',
 *   instrument: { card: { number: '4111111111111111', expiryMonth: 3, expiryYear: 2030 } },
 * };
 */
export const ProcessRequest = Type.Object(
  {
    clientTransactionId: Type.Optional(PaymentIdentifier),
    amount: SaleAmount,
    currency: Currency,
    entryMode: wordOf(entryModes, {
      description: 'How the card was read.',
      examples: ['Keyed'],
      ...fieldCodes({ type: 'entry_mode_invalid', enum: 'entry_mode_invalid' }),
    }),
    instrument: Instrument,
    merchantId: Type.Optional(Uuid),
    storeId: Type.Optional(Uuid),
    deviceId: Type.Optional(Uuid),
    captureMode: Type.Optional(
      wordOf(captureModes, {
        description: 'Deferred authorises alone; the default is that of the acquirer contract.',
      }),
    ),
    purpose: Type.Optional(
      wordOf(salePurposes, {
        description: 'AccountVerification asks the issuer about the card; the amount is 0.',
      }),
    ),
    amounts: Type.Optional(AmountParts),
    ksn: Type.Optional(KeySerial),
    pinblock: Type.Optional(
      Type.String({
        pattern: '^(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32})$',
        description:
          'The encrypted PIN block: 16 hexadecimal digits, of format 4 32. It is sent on under the key of the acquirer and never stored.',
      }),
    ),
    pinblockFormat: Type.Optional(
      wordOf(pinBlockFormats, {
        description: 'The format of the PIN block (ISO 9564-1).',
        ...fieldCodes({ type: 'pin_format_unsupported', enum: 'pin_format_unsupported' }),
      }),
    ),
    stepUpOf: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9._:-]+$',
        description:
          'The declined contactless sale, by either identifier, that this sale repeats with PIN or chip.',
        examples: ['till-7:000123'],
      }),
    ),
    partialApproval: Type.Optional(
      Type.Boolean({ description: 'Whether an approval of a smaller amount is accepted.' }),
    ),
    orderChannel: Type.Optional(
      wordOf(orderChannels, {
        description:
          'Makes it a mail or telephone order: entryMode is Keyed, and either zipCode and houseNumber or an address in the instrument are needed.',
      }),
    ),
    zipCode: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9](?:[A-Za-z0-9 -]{0,8}[A-Za-z0-9])?$',
        description: 'The postal code of the cardholder, for address verification.',
        examples: ['SW1A 2AA'],
      }),
    ),
    houseNumber: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{0,2}[0-9](?:[A-Za-z0-9 /-]{0,6}[A-Za-z0-9])?$',
        description: 'The house number of the cardholder, for address verification.',
        examples: ['10'],
      }),
    ),
    confirmWithinSeconds: Type.Optional(
      Type.Integer({
        minimum: confirmWithinMin,
        maximum: confirmWithinMax,
        description:
          'The seconds within which the approved sale is confirmed; else the platform reverses it.',
        examples: [30],
      }),
    ),
    notAfter: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description:
          'A request that arrives later is refused as too_late: nothing is processed. The platform sends the sale to the acquirer at most five seconds after this time, or never.',
        examples: ['2026-03-01T12:30:00.000Z'],
      }),
    ),
    offlineTransaction: Type.Optional(
      Type.Boolean({
        description: 'Uploads a sale that the terminal approved offline; requires offlineData.',
      }),
    ),
    offlineData: Type.Optional(OfflineData),
    order: Type.Optional(Order),
    metadata: Type.Optional(Metadata),
  },
  { ...strict, description: 'A card sale.' },
);
/** The type of {@link ProcessRequest}, with the identifier of the sale. */
export type ProcessRequest = Static<typeof ProcessRequest> & { clientTransactionId: string };

/**
 * `POST …/{transactionId}/confirm`: the till received the approval and completes the sale.
 *
 * @example
 * const request: ConfirmRequest = {};
 */
export const ConfirmRequest = Type.Object(
  {},
  { ...strict, description: 'A confirmation of a sale that requires one; the body has no fields.' },
);
/** The type of {@link ConfirmRequest}. */
export type ConfirmRequest = Static<typeof ConfirmRequest>;

const operationMembers = {
  amount: Type.Optional(Amount),
  currency: Type.Optional(Currency),
  clientOperationId: Type.Optional(ClientIdentifier),
  approvalCode: Type.Optional(ApprovalCodeText),
};

/**
 * `POST …/{transaction_id}/capture`; without `amount` the whole remaining amount.
 *
 * @example
 * const request: CaptureRequest = { amount: 500, final: true };
 */
export const CaptureRequest = Type.Object(
  {
    ...operationMembers,
    final: Type.Optional(
      Type.Boolean({
        description:
          'Whether the acquirer releases the rest of the authorisation. Default: true if the capture leaves nothing to capture and no other capture or cancel is pending, or if the contract has no `multipleCapture`; otherwise false.',
      }),
    ),
  },
  {
    ...strict,
    description:
      'A capture; without amount all that is left. Without clientOperationId a repeated request is a second capture.',
    examples: [{ clientOperationId: 'capture-4711-1', amount: 6000 }],
  },
);
/** The type of {@link CaptureRequest}. */
export type CaptureRequest = Static<typeof CaptureRequest>;

/**
 * `POST …/{transaction_id}/refund`; without `amount` the whole remaining amount.
 *
 * @example
 * const request: RefundRequest = { amount: 500, clientOperationId: 'refund-1' };
 */
export const RefundRequest = Type.Object(operationMembers, {
  ...strict,
  description:
    'A refund; without amount all that is left. Without clientOperationId a repeated request is a second refund.',
  examples: [{ clientOperationId: 'refund-4711-1', amount: 450 }],
});
/** The type of {@link RefundRequest}. */
export type RefundRequest = Static<typeof RefundRequest>;

/**
 * `POST …/{transactionId}/cancel`: `Functional` is a void, `Technical` a reversal.
 *
 * @example
 * const request: CancelRequest = { cancelReason: 'Technical', reversalReason: 'CardRemoved' };
 */
export const CancelRequest = Type.Object(
  {
    ...operationMembers,
    cancelReason: wordOf(['Technical', 'Functional'], {
      description: 'Technical reverses the whole sale, Functional voids what is not captured.',
    }),
    reversalReason: Type.Optional(
      wordOf(['ChipDeclined', 'CardRemoved', 'Timeout', 'CustomerCancel'], {
        description: 'Why a Technical cancel is made.',
      }),
    ),
    emvData: Type.Optional(ChipObjects),
  },
  {
    ...strict,
    description: 'A void or a reversal.',
    examples: [{ clientOperationId: 'cancel-4711-1', cancelReason: 'Functional' }],
  },
);
/** The type of {@link CancelRequest}. */
export type CancelRequest = Static<typeof CancelRequest>;

/**
 * `POST …/{transactionId}/refundbyweb`: a refund if a captured amount remains, otherwise a cancel.
 *
 * @example
 * const request: RefundByWebRequest = { amount: 500 };
 */
export const RefundByWebRequest = Type.Object(
  { amount: Type.Optional(Amount), clientOperationId: Type.Optional(ClientIdentifier) },
  {
    ...strict,
    description:
      'A refund or cancel by web; the platform chooses which. Without amount all that is left.',
    examples: [{ clientOperationId: 'refund-4711-1', amount: 450 }],
  },
);
/** The type of {@link RefundByWebRequest}. */
export type RefundByWebRequest = Static<typeof RefundByWebRequest>;

/**
 * The limit of items in one capture of all.
 *
 * @example
 * if (items.length > captureAllItemsMax) split(items);
 */
export const captureAllItemsMax = 5_000;

/**
 * `POST /payment/v1/transactions/captureall`. With `items` it captures those. Without them it
 * captures every authorized transaction that matches the other members and has an open amount.
 * Items must also match the other members.
 *
 * @example
 * const request: CaptureAllRequest = { currency: 'EUR', dryRun: true };
 */
export const CaptureAllRequest = Type.Object(
  {
    clientOperationId: Type.Optional(ClientIdentifier),
    merchantId: Type.Optional(Uuid),
    storeId: Type.Optional(Uuid),
    currency: Type.Optional(Currency),
    authorizedBefore: Type.Optional(Timestamp),
    items: Type.Optional(
      Type.Array(
        Type.Object(
          { transactionId: ClientIdentifier, amount: Type.Optional(Amount) },
          { ...strict },
        ),
        {
          minItems: 1,
          maxItems: captureAllItemsMax,
          description:
            'The sales to capture; default: all. If `storeId`, `currency` or `authorizedBefore` excludes one of them, the request fails and nothing is captured.',
        },
      ),
    ),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Returns the sales that would be captured and sends nothing.' }),
    ),
  },
  { ...strict, description: 'A capture of all, or of many, authorised transactions.' },
);
/** The type of {@link CaptureAllRequest}. */
export type CaptureAllRequest = Static<typeof CaptureAllRequest>;

/**
 * `POST /payment/v1/transactions/{transactionId}/operations/{number}/resolve`: ends an operation
 * manually.
 *
 * @example
 * const request: OperationResolveRequest = { outcome: 'Failed', note: 'Not in their books of 21 November.' };
 */
export const OperationResolveRequest = Type.Object(
  {
    outcome: wordOf(['Succeeded', 'Failed'], {
      description:
        'As the books of the acquirer say. `Succeeded`: it has done it, once. `Failed`: it has not done it and will not; the amount is free again. A reversal can be ended as `Succeeded` alone, when nothing is held or charged any more.',
      ...fieldCodes({ enum: 'field_invalid' }),
    }),
    note: Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description:
        'The source of the decision, for example a letter of the acquirer. Stored in the event and the audit log.',
      examples: ['Not in their books of 21 November, says their help desk.'],
    }),
  },
  { additionalProperties: false, description: 'The outcome of an operation without a response.' },
);
/** The type of {@link OperationResolveRequest}. */
export type OperationResolveRequest = Static<typeof OperationResolveRequest>;
