/** The body of every refusal: `application/problem+json` after RFC 9457. */
import { type Static, Type } from 'typebox';
import { listErrorCodes } from '../errors.ts';
import { FieldErrorSchema, wordOf } from './values.ts';

/**
 * The problem that a refused request is answered with. OAuth endpoints keep the body of RFC 6749.
 *
 * @example
 * const problem = (await response.json()) as Problem;
 * if (problem.outcome === 'Unknown') await readStatus(clientTransactionId);
 */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'The address of the page about the code.' }),
    title: Type.String({ description: 'The short text of the code.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status.' }),
    detail: Type.String({ description: 'One sentence about this occurrence.' }),
    instance: Type.String({ description: 'This occurrence, as a URN of the request id.' }),
    code: wordOf(listErrorCodes(), { description: 'A code of the closed list.' }),
    requestId: Type.String({ description: 'The X-Request-Id of the request.' }),
    outcome: wordOf(['NotProcessed', 'Processed', 'Unknown'], {
      description: 'Whether money may have moved: with Unknown ask for the status first.',
    }),
    retryable: Type.Boolean({ description: 'Whether the same request can succeed later.' }),
    retryAfterMs: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Milliseconds to wait before the next attempt.' }),
    ),
    errors: Type.Optional(Type.Array(FieldErrorSchema, { description: 'The faulty members.' })),
    transaction: Type.Optional(
      Type.Object(
        {
          transactionId: Type.String(),
          clientTransactionId: Type.String(),
          state: Type.String(),
        },
        { description: 'The transaction, where its state is the reason.' },
      ),
    ),
    maxAmount: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Minor units: the most that would be taken, where the amount was too high.',
      }),
    ),
    merchantIds: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With `transaction_ambiguous`: whose transactions have the identifier.',
      }),
    ),
    message: Type.Optional(
      Type.Object(
        {
          messageId: Type.String(),
          saleId: Type.String(),
          serviceId: Type.String(),
          status: Type.String(),
          address: Type.String({ description: 'Where the whole message and its answer are.' }),
        },
        { description: 'The message to a terminal that was sent first by the same ServiceID.' },
      ),
    ),
    allowedOperations: Type.Optional(
      Type.Array(
        Type.Object({
          operation: Type.String(),
          allowed: Type.Boolean(),
          maxAmount: Type.Integer({ minimum: 0 }),
          currency: Type.String(),
          reason: Type.Optional(Type.String()),
        }),
        { description: 'What the transaction still allows, where its state is the reason.' },
      ),
    ),
  },
  { description: 'A refusal after RFC 9457.' },
);
/** What the schema {@link Problem} describes. */
export type Problem = Static<typeof Problem>;
