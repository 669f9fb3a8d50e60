/** What clients send for card payments. */
import { type Static, Type } from 'typebox';
import {
  Amount,
  ClientIdentifier,
  Currency,
  fieldCodes,
  Metadata,
  Timestamp,
  Uuid,
  wordOf,
} from '../values.ts';
import { ApprovalCodeText } from './approval-codes.ts';
import { captureModes, entryModes, orderChannels } from './words.ts';

const strict = { additionalProperties: false } as const;

const emvHex = {
  minLength: 4,
  maxLength: 2048,
  pattern: '^(?:[0-9A-Fa-f]{2})+$',
  ...fieldCodes({
    type: 'emv_data_invalid',
    minLength: 'emv_data_invalid',
    maxLength: 'emv_data_invalid',
    pattern: 'emv_data_invalid',
  }),
};

/**
 * Card data as it is typed in.
 *
 * @example
 * const card: Card = { number: '4111111111111111', expiryMonth: 3, expiryYear: 2030 };
 */
export const Card = Type.Object(
  {
    number: Type.String({
      pattern: '^[0-9]{12,19}$',
      description: 'The card number: 12 to 19 digits, with a valid check digit.',
      examples: ['4111111111111111'],
      ...fieldCodes({ type: 'card_number_invalid', pattern: 'card_number_invalid' }),
    }),
    expiryMonth: Type.Integer({
      minimum: 1,
      maximum: 12,
      description: 'The month of the expiry.',
      examples: [3],
    }),
    expiryYear: Type.Integer({
      minimum: 2000,
      maximum: 2099,
      description: 'The year of the expiry, four digits.',
      examples: [2030],
    }),
    securityCode: Type.Optional(
      Type.String({
        pattern: '^[0-9]{3,4}$',
        description: 'The card security code. It is sent on and never stored.',
        examples: ['737'],
      }),
    ),
    holderName: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The name on the card.' }),
    ),
  },
  { ...strict, description: 'Card data as it is typed in.' },
);
/** What the schema {@link Card} describes. */
export type Card = Static<typeof Card>;

/**
 * How a cardholder is reached who orders by mail or telephone: an e-mail address, a telephone
 * number, or both.
 *
 * @example
 * const address: ContactAddress = { phone: '+33123456789' };
 */
export const ContactAddress = Type.Object(
  {
    email: Type.Optional(
      Type.String({ format: 'email', maxLength: 254, examples: ['guest@example.com'] }),
    ),
    phone: Type.Optional(
      Type.String({
        pattern: '^\\+[1-9][0-9]{6,14}$',
        description: 'A telephone number after E.164.',
        examples: ['+33123456789'],
      }),
    ),
  },
  {
    ...strict,
    minProperties: 1,
    description: 'An e-mail address or a telephone number of the cardholder.',
    ...fieldCodes({ minProperties: 'moto_contact_required' }),
  },
);
/** What the schema {@link ContactAddress} describes. */
export type ContactAddress = Static<typeof ContactAddress>;

/**
 * What is paid with: exactly one of `card`, `token` (both with Keyed), `emvData` (with the chip
 * modes) and `track2` (with the modes of the stripe). `address` may stand beside it.
 *
 * @example
 * const instrument: Instrument = { token: 'tok_5R2…' };
 */
export const Instrument = Type.Object(
  {
    card: Type.Optional(Card),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9_-]+$',
        description: 'The token of a stored card, from the card of an earlier answer.',
        ...fieldCodes({ minLength: 'card_token_unknown', pattern: 'card_token_unknown' }),
      }),
    ),
    emvData: Type.Optional(
      Type.String({
        ...emvHex,
        description: 'The data of the chip: BER-TLV in hexadecimal, with tag 57 or 5A.',
      }),
    ),
    track2: Type.Optional(
      Type.String({
        pattern: '^;?[0-9]{12,19}[=Dd][0-9]{7,}[Ff]?\\??$',
        maxLength: 40,
        description:
          'Track 2 of the stripe (ISO/IEC 7813), with or without sentinels. It is sent on and never stored.',
        ...fieldCodes({
          type: 'track_data_invalid',
          pattern: 'track_data_invalid',
          maxLength: 'track_data_invalid',
        }),
      }),
    ),
    address: Type.Optional(ContactAddress),
  },
  {
    ...strict,
    minProperties: 1,
    description:
      'What is paid with: exactly one of card, token, emvData and track2; address may stand beside it.',
    ...fieldCodes({ minProperties: 'instrument_invalid' }),
  },
);
/** What the schema {@link Instrument} describes. */
export type Instrument = Static<typeof Instrument>;

/**
 * Parts of the amount of a sale, in its minor units.
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
/** What the schema {@link AmountParts} describes. */
export type AmountParts = Static<typeof AmountParts>;

/**
 * The order that is paid.
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
/** What the schema {@link Order} describes. */
export type Order = Static<typeof Order>;

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
    clientTransactionId: ClientIdentifier,
    amount: Amount,
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
    amounts: Type.Optional(AmountParts),
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
    notAfter: Type.Optional(Timestamp),
    order: Type.Optional(Order),
    metadata: Type.Optional(Metadata),
  },
  { ...strict, description: 'A card sale.' },
);
/** What the schema {@link ProcessRequest} describes. */
export type ProcessRequest = Static<typeof ProcessRequest>;

const operationMembers = {
  amount: Type.Optional(Amount),
  currency: Type.Optional(Currency),
  clientOperationId: Type.Optional(ClientIdentifier),
  approvalCode: Type.Optional(ApprovalCodeText),
};

/**
 * `POST …/{transaction_id}/capture`; without `amount` all that is left.
 *
 * @example
 * const request: CaptureRequest = { amount: 500, final: true };
 */
export const CaptureRequest = Type.Object(
  {
    ...operationMembers,
    final: Type.Optional(
      Type.Boolean({ description: 'Whether the rest of the authorisation is released.' }),
    ),
  },
  { ...strict, description: 'A capture; without amount all that is left.' },
);
/** What the schema {@link CaptureRequest} describes. */
export type CaptureRequest = Static<typeof CaptureRequest>;

/**
 * `POST …/{transaction_id}/refund`; without `amount` all that is left.
 *
 * @example
 * const request: RefundRequest = { amount: 500, clientOperationId: 'refund-1' };
 */
export const RefundRequest = Type.Object(operationMembers, {
  ...strict,
  description: 'A refund; without amount all that is left.',
});
/** What the schema {@link RefundRequest} describes. */
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
  },
  { ...strict, description: 'A void or a reversal.' },
);
/** What the schema {@link CancelRequest} describes. */
export type CancelRequest = Static<typeof CancelRequest>;

/**
 * `POST …/{transactionId}/refundbyweb`: refund where something captured is left to refund, else
 * cancel.
 *
 * @example
 * const request: RefundByWebRequest = { amount: 500 };
 */
export const RefundByWebRequest = Type.Object(
  { amount: Type.Optional(Amount), clientOperationId: Type.Optional(ClientIdentifier) },
  { ...strict, description: 'A refund or cancel by web; the platform chooses which.' },
);
/** What the schema {@link RefundByWebRequest} describes. */
export type RefundByWebRequest = Static<typeof RefundByWebRequest>;

/**
 * The most items that one capture of all names.
 *
 * @example
 * if (items.length > captureAllItemsMax) split(items);
 */
export const captureAllItemsMax = 5_000;

/**
 * `POST /payment/v1/transactions/captureall`. With `items` it captures those, else every
 * authorised transaction that the other members select.
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
        { minItems: 1, maxItems: captureAllItemsMax, description: 'What to capture, if not all.' },
      ),
    ),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Only tells what would be captured; nothing is sent.' }),
    ),
  },
  { ...strict, description: 'A capture of all, or of many, authorised transactions.' },
);
/** What the schema {@link CaptureAllRequest} describes. */
export type CaptureAllRequest = Static<typeof CaptureAllRequest>;
