/**
 * The messages between the platform and an HTTP/JSON acquirer: the acquirer SPI, version 1.
 *
 * Both sides accept members that they do not know and ignore them. Source of the numbers and codes:
 * ISO 8583:1987, data elements 4, 11, 37, 38, 39, 41, 42, 49, 55.
 */
import { type Static, type TProperties, Type } from 'typebox';

const messageIdPattern = '^[A-Za-z0-9-]{1,64}$';

const messageId = Type.String({
  pattern: messageIdPattern,
  description: 'Names this message for ever; a message that is sent again has the same one.',
  examples: ['0198c0de-0000-7000-8000-000000000001-632512000017'],
});

const minorUnits = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 999_999_999_999, description });

const currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217, alphabetic.' });

const open = <Members extends TProperties>(members: Members, description: string) =>
  Type.Object(members, { description });

const everyMessage = {
  messageId,
  repeat: Type.Boolean({ description: 'Whether it may have been sent before.' }),
  transactionId: Type.String({ description: 'The sale at the platform.' }),
  sentAt: Type.String({ format: 'date-time', description: 'When this try left the platform.' }),
  institutionId: Type.String({ pattern: '^[0-9]{1,11}$', description: 'DE32.' }),
  merchantId: Type.String({ pattern: '^[A-Za-z0-9]{1,15}$', description: 'DE42.' }),
  mcc: Type.String({ pattern: '^[0-9]{4}$', description: 'DE18.' }),
  terminalId: Type.String({ pattern: '^[A-Z0-9]{8}$', description: 'DE41.' }),
  traceNumber: Type.String({ pattern: '^[0-9]{6}$', description: 'DE11.' }),
  retrievalReference: Type.String({ pattern: '^[A-Za-z0-9]{12}$', description: 'DE37.' }),
  localTime: Type.String({ pattern: '^[0-9]{6}$', description: 'hhmmss at the store (DE12).' }),
  localDate: Type.String({ pattern: '^[0-9]{4}$', description: 'MMDD at the store (DE13).' }),
  amount: minorUnits('Minor units of the currency (DE4).'),
  currency,
};

const original = Type.String({
  pattern: messageIdPattern,
  description: 'The payment that this message is about, by its messageId.',
});

const amountParts = open(
  {
    tip: Type.Optional(minorUnits('The tip, as a part of the amount.')),
    cashback: Type.Optional(minorUnits('The cashback, as a part of the amount.')),
  },
  'Parts of the amount (DE54).',
);

const entryMode = Type.Enum(
  [
    'ContactChip',
    'ContactlessChip',
    'MagStripe',
    'ContactlessMagStripe',
    'FallbackMagStripe',
    'Keyed',
  ],
  { description: 'How the card was read (DE22).' },
);

const pin = open(
  {
    block: Type.String({ pattern: '^[0-9A-F]{16}([0-9A-F]{16})?$', description: 'DE52, hex.' }),
    format: Type.Integer({ description: 'The format of ISO 9564-1: 0, 3 or 4.' }),
    keyIndex: Type.Optional(Type.String({ description: 'Which zone PIN key (DE53).' })),
  },
  'The PIN under the zone key that the two sides share.',
);

/**
 * `POST /v1/payments`: an authorization (`Authorization`), a sale with immediate capture (`Sale`),
 * or an advice of a sale that a terminal approved offline (`OfflineSale`). With amount 0 an
 * authorization verifies the card and holds nothing.
 *
 * @example
 * const message: SpiPayment = { ...common, kind: 'Sale', entryMode: 'Keyed', card: { number, expiry: '3012' } };
 */
export const SpiPayment = open(
  {
    ...everyMessage,
    kind: Type.Enum(['Authorization', 'Sale', 'OfflineSale'], {
      description: 'Money is held, or taken; an `OfflineSale` was approved by the terminal before.',
    }),
    entryMode,
    isRemoteOrder: Type.Boolean({ description: 'By mail or telephone.' }),
    card: open(
      {
        number: Type.String({ pattern: '^[0-9]{12,19}$' }),
        expiry: Type.String({ pattern: '^[0-9]{4}$', description: 'YYMM.' }),
        sequence: Type.Optional(Type.String({ pattern: '^[0-9]{1,3}$', description: 'DE23.' })),
        track2: Type.Optional(Type.String({ description: 'DE35. Never to be kept.' })),
        securityCode: Type.Optional(
          Type.String({ pattern: '^[0-9]{3,4}$', description: 'Never to be kept.' }),
        ),
      },
      'The card; sent with a payment and with nothing that follows it.',
    ),
    pin: Type.Optional(pin),
    chipData: Type.Optional(
      Type.String({ pattern: '^([0-9A-F]{2})+$', description: 'BER-TLV in hex (DE55).' }),
    ),
    amounts: Type.Optional(amountParts),
    offline: Type.Optional(
      open(
        {
          authorizedAt: Type.String({ format: 'date-time' }),
          authorizationCode: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9 ]{1,6}$' })),
        },
        'Of an OfflineSale: when the terminal approved it, and the code that it printed.',
      ),
    ),
    addressCheck: Type.Optional(
      open(
        { postalCode: Type.String(), houseNumber: Type.String() },
        'The address data for address verification.',
      ),
    ),
  },
  'A payment: a hold, or money at once.',
);
export type SpiPayment = Static<typeof SpiPayment>;

/**
 * `POST /v1/captures`: captures an authorized amount.
 *
 * @example
 * const message: SpiCapture = { ...common, original, final: true };
 */
export const SpiCapture = open(
  {
    ...everyMessage,
    original,
    authorizationCode: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9 ]{1,6}$' })),
    final: Type.Boolean({
      description: 'The final capture: the acquirer releases the rest of the authorisation.',
    }),
  },
  'A capture of a hold; several are possible until one is final.',
);
export type SpiCapture = Static<typeof SpiCapture>;

/**
 * `POST /v1/refunds`: refunds a captured amount.
 *
 * @example
 * const message: SpiRefund = { ...common, original };
 */
export const SpiRefund = open(
  {
    ...everyMessage,
    original,
    authorizationCode: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9 ]{1,6}$' })),
  },
  'A refund of what was captured.',
);
export type SpiRefund = Static<typeof SpiRefund>;

/**
 * `POST /v1/reversals`: reverses a payment, completely or down to a remaining amount.
 *
 * @example
 * const message: SpiReversal = { ...common, original };
 */
export const SpiReversal = open(
  {
    ...everyMessage,
    original,
    authorizationCode: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9 ]{1,6}$' })),
    reason: Type.Optional(
      Type.Enum(
        ['Timeout', 'InvalidResponse', 'CustomerCancel', 'ChipDeclined', 'CardRemoved', 'Suspect'],
        { description: 'Why it is taken back.' },
      ),
    ),
    chipData: Type.Optional(
      Type.String({
        pattern: '^([0-9A-F]{2})+$',
        description: 'The final chip data, BER-TLV in hex (DE55).',
      }),
    ),
    remainingAmount: Type.Optional(
      minorUnits('The amount that remains (DE95); absent means zero.'),
    ),
  },
  'A reversal. The acquirer accepts it in every state of the payment; a repeated reversal has no second effect.',
);
export type SpiReversal = Static<typeof SpiReversal>;

/**
 * `POST /v1/enquiries`: requests the result of a message that got no answer.
 *
 * @example
 * const enquiry: SpiEnquiry = { messageId };
 */
export const SpiEnquiry = open({ messageId }, 'A question about a message.');
export type SpiEnquiry = Static<typeof SpiEnquiry>;

/**
 * `POST /v1/echo`: checks whether the acquirer accepts payments.
 *
 * @example
 * const echo: SpiEcho = { sentAt: '2026-01-02T03:04:05.678Z' };
 */
export const SpiEcho = open(
  { sentAt: Type.String({ format: 'date-time' }) },
  'A question whether payments are taken.',
);
export type SpiEcho = Static<typeof SpiEcho>;

/**
 * The answer to an echo.
 *
 * @example
 * const answer: SpiEchoAnswer = { status: 'Ready' };
 */
export const SpiEchoAnswer = open(
  { status: Type.Enum(['Ready', 'Closed'], { description: '`Closed` takes no payments now.' }) },
  'Whether payments are taken.',
);
export type SpiEchoAnswer = Static<typeof SpiEchoAnswer>;

const responseCode = Type.String({ pattern: '^[A-Z0-9]{2}$', description: 'DE39.' });

/**
 * The result of a message.
 *
 * - `Pending`: the platform sends an enquiry later.
 * - `NotProcessed`: the message had no effect and will have none; used in responses with a status
 *   of 400 and above.
 * - `NotFound`: only in the answer to an enquiry.
 *
 * @example
 * const answer: SpiAnswer = { messageId, outcome: 'Approved', responseCode: '00', amount: 1234, currency: 'EUR' };
 */
export const SpiAnswer = open(
  {
    messageId,
    outcome: Type.Enum(['Approved', 'Declined', 'Pending', 'NotProcessed', 'NotFound']),
    responseCode: Type.Optional(responseCode),
    amount: Type.Optional(
      minorUnits(
        'The approved amount. It is less than the requested amount only with responseCode 10. Not used for a reversal.',
      ),
    ),
    currency: Type.Optional(currency),
    authorizationCode: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9 ]{1,6}$' })),
    issuerData: Type.Optional(
      Type.String({ pattern: '^([0-9A-F]{2})+$', description: 'Tags 91, 71, 72, 8A in hex.' }),
    ),
    addressResult: Type.Optional(Type.String({ pattern: '^[A-Z]$' })),
    detail: Type.Optional(Type.String({ maxLength: 500, description: 'For people and logs.' })),
  },
  'The result of a message.',
);
export type SpiAnswer = Static<typeof SpiAnswer>;

/**
 * The request schema of each address.
 *
 * @example
 * Object.keys(spiRequests); // ['/v1/payments', '/v1/captures', …]
 */
export const spiRequests = {
  '/v1/payments': SpiPayment,
  '/v1/captures': SpiCapture,
  '/v1/refunds': SpiRefund,
  '/v1/reversals': SpiReversal,
  '/v1/enquiries': SpiEnquiry,
  '/v1/echo': SpiEcho,
} as const;

/**
 * An address of the SPI, below the base path of the acquirer's server.
 *
 * @example
 * const path: SpiPath = '/v1/payments';
 */
export type SpiPath = keyof typeof spiRequests;
