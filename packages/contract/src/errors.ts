/** Error codes: their types, the published list and the ways to look a code up. */
import { errorTable } from './error-codes/index.ts';

/**
 * Whether money may have moved when a request was refused.
 *
 * `NotProcessed`: nothing happened, a new attempt is safe. `Processed`: the effect took place.
 * `Unknown`: ask for the status before anything else is done.
 *
 * @example
 * if (problem.outcome === 'Unknown') await readStatus(clientTransactionId);
 */
export type Outcome = 'NotProcessed' | 'Processed' | 'Unknown';

/**
 * The facts of one error code. `title` is the short text of the problem, `help` the sentence of the
 * page that is published for the code, `retryable` tells whether the same request can succeed later,
 * `outcome` is what a refusal with this code says unless it says otherwise itself. With `reserved` no
 * version of the platform answers the code yet.
 *
 * @example
 * const facts: ErrorCodeFacts = errorCodes.amount_zero;
 */
export type ErrorCodeFacts = {
  readonly status: number;
  readonly title: string;
  readonly help: string;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly reserved?: true;
};

/**
 * The closed list of the codes of `application/problem+json`. A status below 500 says `NotProcessed`
 * but for `service_id_reused` and `request_interrupted`: what came first may have been done. A decline by
 * the issuer is not in it: it is an answer with HTTP 200.
 *
 * Source: the platform's contract, chapters 3 and 7; problem shape after RFC 9457.
 *
 * @example
 * errorCodes.refund_amount_exceeded.status; // 422
 */
export const errorCodes = errorTable satisfies Record<string, ErrorCodeFacts>;

/**
 * One code of the closed list.
 *
 * @example
 * const code: ErrorCode = 'transaction_not_found';
 */
export type ErrorCode = keyof typeof errorCodes;

/**
 * One faulty member of a request: `pointer` is a JSON pointer (RFC 6901) into the body, or
 * `?name` for a query parameter; `code` is from the closed list where it has a fitting one.
 *
 * @example
 * const error: FieldError = { pointer: '/amount', code: 'amount_zero', detail: 'must be 1 or more' };
 */
export type FieldError = {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
};

/**
 * Tells whether a text is a code of the closed list.
 *
 * @param text - any text, for instance the `code` of a problem that was received
 * @returns true for a code of {@link errorCodes}; inherited names such as `toString` are not codes
 * @example
 * isErrorCode('amount_zero'); // true
 */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}

/**
 * Every code, in the order in which a request can meet them.
 *
 * @returns the codes of the closed list
 * @example
 * for (const code of listErrorCodes()) console.log(code, errorCodes[code].status);
 */
export function listErrorCodes(): ErrorCode[] {
  return Object.keys(errorCodes) as ErrorCode[];
}
