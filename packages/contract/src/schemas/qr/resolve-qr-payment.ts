/** The manual end of a hold of a QR payment. */
import { type Static, Type } from 'typebox';
import { fieldCodes, wordOf } from '../values-and-problems/value-schemas.ts';

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
        '`Accept`: accept the paid amount while the terminal waits. `Refund`: refund the paid amount. `Settle`: the case was settled outside of the platform; the note says how. `Ask`: only request the state of the unanswered refund from the provider. `Retry`: request that refund again with the same identifier.',
      ...fieldCodes({ enum: 'field_invalid' }),
    }),
    amount: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The `hold.amount` that the operator saw. If it has changed since, the request fails.',
        examples: [900],
        ...fieldCodes({ type: 'field_invalid' }),
      }),
    ),
    note: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        description: 'Stored in the event. Required for Settle.',
        examples: ['Given back in cash.'],
      }),
    ),
  },
  { ...strict, description: 'The decision on a held payment.' },
);
/** The type of {@link QrResolveRequest}. */
export type QrResolveRequest = Static<typeof QrResolveRequest>;
