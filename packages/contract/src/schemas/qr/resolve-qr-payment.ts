/** The manual end of a hold of a QR payment. */
import { type Static, Type } from 'typebox';
import { fieldCodes, wordOf } from '../common/value-schemas.ts';

const strict = { additionalProperties: false } as const;

/**
 * `POST /qrcode-payment/v1/transactions/{transactionId}/resolve`: ends a hold.
 *
 * @example
 * const request: QrResolveRequest = { resolution: 'Accept', amount: 900 };
 */
export const QrResolveRequest = Type.Object(
  {
    resolution: wordOf(['Accept', 'Refund', 'Settle', 'Ask', 'Retry'], {
      description:
        '`Accept`: what was paid is taken as it is, while the terminal waits. `Refund`: it is given back. `Settle`: the matter was ended outside of the platform, and the note says how. `Ask`: the provider is asked how the refund without an answer stands, and nothing else. `Retry`: that refund is asked for again, under the name that it has.',
      ...fieldCodes({ enum: 'field_invalid' }),
    }),
    amount: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The `hold.amount` that whoever decides was shown. Where it is another one by now, nothing is decided.',
        examples: [900],
        ...fieldCodes({ type: 'field_invalid' }),
      }),
    ),
    note: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        description: 'Stands in the event. Settle needs it.',
        examples: ['Given back in cash.'],
      }),
    ),
  },
  { ...strict, description: 'What becomes of a payment that is held.' },
);
/** The type of {@link QrResolveRequest}. */
export type QrResolveRequest = Static<typeof QrResolveRequest>;
