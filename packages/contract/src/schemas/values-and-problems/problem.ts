/** The body of every refusal: `application/problem+json` after RFC 9457. */
import { type Static, Type } from 'typebox';
import { listErrorCodes } from '../../errors.ts';
import { FieldErrorSchema, wordOf } from './value-schemas.ts';

/** The members that every problem can have. */
const always = {
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
  errors: Type.Optional(Type.Array(FieldErrorSchema, { description: 'The fields with an error.' })),
};

/** Additional members of some codes. */
const extensions = {
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
      {
        description:
          'The operations that the transaction still allows, if its state is the reason of the error.',
      },
    ),
  ),
  allowedResolutions: Type.Optional(
    Type.Array(Type.String(), {
      description: 'With `resolution_not_possible`: how the hold can be ended.',
    }),
  ),
  dependants: Type.Optional(
    Type.Array(Type.Object({ type: Type.String(), id: Type.String(), name: Type.String() }), {
      description: 'With `has_dependants`: the first of what still depends on it.',
    }),
  ),
  level: Type.Optional(
    Type.String({
      description: 'With `not_enabled`: the highest level at which the service is not active.',
    }),
  ),
  reason: Type.Optional(
    Type.String({ description: 'With `session_lost`: the word that the session ended with.' }),
  ),
  afterPosition: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'With `replay_running`: the position in the feed that it has come to.',
    }),
  ),
  toPosition: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'With `replay_running`: the position that it ends at.',
    }),
  ),
};

/**
 * The body of a refused request. OAuth endpoints use the body of RFC 6749.
 *
 * @example
 * const problem = (await response.json()) as Problem;
 * if (problem.outcome === 'Unknown') await readStatus(clientTransactionId);
 */
export const Problem = Type.Object(
  { ...always, ...extensions },
  { description: 'A refusal after RFC 9457.' },
);
/** The type of {@link Problem}. */
export type Problem = Static<typeof Problem>;

/**
 * The members of a problem that only some codes have. A refusal has no other additional members.
 *
 * @example
 * const extensions: ProblemExtensions = { maxAmount: 4000 };
 */
export type ProblemExtensions = Readonly<Partial<Pick<Problem, keyof typeof extensions>>>;
