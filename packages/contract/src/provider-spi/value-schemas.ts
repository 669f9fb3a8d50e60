/** The values in the messages of the provider SPI: identifiers, amounts, states and displays. */
import { amountMax, amountMin } from '@switchyard/money';
import { type Static, type TProperties, Type } from 'typebox';

/** Makes the schema of a message. Unknown members are accepted and ignored. */
export const messageSchema = <Members extends TProperties>(members: Members, description: string) =>
  Type.Object(members, { additionalProperties: true, description });

/** A UUID from the platform or the provider. */
export const uuid = (description: string) =>
  Type.String({
    format: 'uuid',
    description,
    examples: ['0198c0de-0000-7000-8000-000000000001'],
  });

/** A time, RFC 3339. */
export const moment = (description: string) =>
  Type.String({
    format: 'date-time',
    maxLength: 40,
    description,
    examples: ['2026-03-01T12:30:00.000Z'],
  });

/**
 * The length limit of a provider's identifier in characters.
 *
 * @example
 * const fits = providerTransactionId.length <= providerIdMaxChars;
 */
export const providerIdMaxChars = 128;

const idPattern = `^[A-Za-z0-9][A-Za-z0-9._~:-]{0,${providerIdMaxChars - 1}}$`;
const idForm = new RegExp(idPattern);
const cardForm = /^\d{12,19}$/;

/**
 * Whether a text is a valid provider identifier. The platform stores and shows it, so a text that
 * could be a card number is not valid.
 *
 * @example
 * isProviderId('P-20260301-000017'); // true
 * isProviderId('4111111111111111'); // false
 */
export function isProviderId(text: unknown): text is string {
  return typeof text === 'string' && idForm.test(text) && !cardForm.test(text);
}

/** A provider's identifier: not secret, and without characters that need escaping. */
export const providerId = (description: string) =>
  Type.String({
    pattern: idPattern,
    maxLength: providerIdMaxChars,
    description: `${description} Not 12 to 19 digits alone: that could be the number of a card.`,
    examples: ['P-20260301-000017'],
  });

/**
 * An amount of money in the provider SPI.
 *
 * @example
 * const amount: ProviderAmount = { amount: 1050, currency: 'EUR' };
 */
export const ProviderAmount = messageSchema(
  {
    amount: Type.Integer({
      minimum: amountMin,
      maximum: amountMax,
      description: 'Minor units of the currency: 1050 EUR is 10.50 euro.',
      examples: [1050],
    }),
    currency: Type.String({
      pattern: '^[A-Z]{3}$',
      description: 'ISO 4217, alphabetic.',
      examples: ['EUR'],
    }),
  },
  'An amount of money.',
);
export type ProviderAmount = Static<typeof ProviderAmount>;

/**
 * The state of a payment at its provider.
 *
 * - `Created`: the provider processes it and shows nothing yet.
 * - `Pending`: it waits for the consumer.
 * - `Authorized`: authorized but not paid yet.
 * - `Completed`: paid.
 *
 * @example
 * const isPaid = answer.status === 'Completed';
 */
export const ProviderPaymentStatus = Type.Enum(
  [
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
  ],
  {
    type: 'string',
    description:
      '`Created`: being worked on, nothing to show yet. `Pending`: waits for the consumer. `Authorized`: promised. `Completed`: paid. `Declined`, `Cancelled`, `Expired` and `Failed`: over, and no money has moved or will.',
    examples: ['Pending'],
  },
);
export type ProviderPaymentStatus = Static<typeof ProviderPaymentStatus>;

/**
 * The state of a refund at its provider.
 *
 * @example
 * const status: ProviderRefundStatus = 'Completed';
 */
export const ProviderRefundStatus = Type.Enum(['Pending', 'Completed', 'Declined'], {
  type: 'string',
  description: '`Completed`: the consumer has the money back, or will without fail.',
  examples: ['Completed'],
});
export type ProviderRefundStatus = Static<typeof ProviderRefundStatus>;

/**
 * The length limit of a display in characters.
 *
 * @example
 * const fits = display.data.length <= qrDisplayMaxChars;
 */
export const qrDisplayMaxChars = 49_152;

/**
 * The content for the terminal's display: a picture, or the text of a code that the terminal draws.
 *
 * @example
 * const display: QrDisplay = { type: 'text/emvqr', data: '000201…6304A13A' };
 */
export const QrDisplay = messageSchema(
  {
    type: Type.Enum(['image/png', 'image/svg+xml', 'text/emvqr', 'url'], {
      type: 'string',
      description:
        'A picture; the text of an EMV merchant-presented code; or an address that the consumer opens.',
      examples: ['text/emvqr'],
    }),
    data: Type.String({
      minLength: 1,
      maxLength: qrDisplayMaxChars,
      description: 'The file of a picture in base64; anything else as it is.',
      examples: ['00020101021229300012D156000000000510A93FO3230Q3128…6304A13A'],
    }),
  },
  'The content for the display of the terminal.',
);
export type QrDisplay = Static<typeof QrDisplay>;

/**
 * The reason of a failed operation.
 *
 * @example
 * const failure: ProviderFailure = { code: 'insufficient_funds', text: 'Not enough money.' };
 */
export const ProviderFailure = messageSchema(
  {
    code: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      maxLength: 64,
      description: 'A word for machines; the provider’s own list.',
      examples: ['insufficient_funds'],
    }),
    text: Type.Optional(
      Type.String({ maxLength: 500, description: 'A sentence for people and logs.' }),
    ),
  },
  'Why something was not done.',
);
export type ProviderFailure = Static<typeof ProviderFailure>;

/**
 * The payer, with the data that a receipt may show.
 *
 * @example
 * const payer: ProviderPayer = { maskedId: 'a***@example.com' };
 */
export const ProviderPayer = messageSchema(
  {
    maskedId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Masked by the provider; never a whole account or card number.',
        examples: ['a***@example.com'],
      }),
    ),
  },
  'The payer, as printed on a receipt.',
);
export type ProviderPayer = Static<typeof ProviderPayer>;

/** The payment at the platform. Both sides can identify the payment by it after a lost message. */
export const platformTransactionId = uuid(
  'The payment at the platform. It names this payment for ever, on both sides.',
);

/** The payment at the provider. */
export const providerTransactionId = providerId('The payment at the provider.');
