/** The manual end of an operation that the acquirer will not answer. */
import { type Static, Type } from 'typebox';
import { fieldCodes, wordOf } from '../values-and-problems/value-schemas.ts';

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
