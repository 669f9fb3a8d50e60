/** Error codes: their types, the published list and the functions to look up a code. */
import { accessCodes, transportCodes } from './error-codes/access-codes.ts';
import { connectorCodes } from './error-codes/connector-codes.ts';
import { fieldCodes } from './error-codes/field-codes.ts';
import {
  configurationCodes,
  idempotencyCodes,
  lookupCodes,
  stateCodes,
} from './error-codes/operation-codes.ts';
import { reportingCodes } from './error-codes/reporting-codes.ts';
import { retailCodes } from './error-codes/retail-codes.ts';
import { serverCodes } from './error-codes/server-codes.ts';

/**
 * Whether money may have moved in a refused request; `outcomeMeanings` has a text for each value.
 *
 * @example
 * if (problem.outcome === 'Unknown') await readStatus(clientTransactionId);
 */
export type Outcome = 'NotProcessed' | 'Processed' | 'Unknown';

/**
 * The facts of one error code.
 *
 * - `title`: the short text of the problem.
 * - `help`: the sentence on the published page of the code.
 * - `retryable`: whether the same request can succeed later.
 * - `outcome`: the outcome of a refusal with this code, unless the refusal gives another one.
 * - `reserved`: no version of the platform uses the code yet.
 * - `advice`: the next step on the published page, if the general one for the outcome is wrong.
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
  readonly advice?: string;
};

/**
 * The closed list of the codes of `application/problem+json`, in the order of the checks of a request. The outcome of a status below 500 is
 * `NotProcessed`. The exceptions are `service_id_reused` and `request_interrupted`, where the
 * earlier request may have been processed. A decline by the issuer has no code; it is a response
 * with HTTP 200.
 *
 * Source: the platform's contract, chapters 3 and 7; problem shape after RFC 9457.
 *
 * @example
 * errorCodes.refund_amount_exceeded.status; // 422
 */
export const errorCodes = {
  ...transportCodes,
  ...accessCodes,
  ...fieldCodes,
  ...lookupCodes,
  ...idempotencyCodes,
  ...stateCodes,
  ...configurationCodes,
  ...connectorCodes,
  ...retailCodes,
  ...reportingCodes,
  ...serverCodes,
} as const satisfies Record<string, ErrorCodeFacts>;

/**
 * One code of the closed list.
 *
 * @example
 * const code: ErrorCode = 'transaction_not_found';
 */
export type ErrorCode = keyof typeof errorCodes;

/**
 * One faulty member of a request. `pointer` is a JSON pointer (RFC 6901) into the body, or `?name`
 * for a query parameter. `code` is a code of the closed list, if one fits.
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
 * Whether a text is a code of the closed list.
 *
 * @param text - any text, for example the `code` of a received problem
 * @returns true for a code of {@link errorCodes}; inherited names such as `toString` are not codes
 * @example
 * isErrorCode('amount_zero'); // true
 */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}

/**
 * Returns every code, in the order of the checks of a request.
 *
 * @returns the codes of the closed list
 * @example
 * for (const code of listErrorCodes()) console.log(code, errorCodes[code].status);
 */
export function listErrorCodes(): ErrorCode[] {
  return Object.keys(errorCodes) as ErrorCode[];
}
