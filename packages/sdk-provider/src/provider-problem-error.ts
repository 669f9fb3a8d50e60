/** The error with which an operation of a provider refuses a call. */

import { defined, type ProviderPaymentStatus, type ProviderProblem } from '@switchyard/contract';

/**
 * The facts of a refusal: the HTTP status, a code for machines and a sentence for readers.
 *
 * @example
 * const facts: ProviderProblemDetails = { status: 409, code: 'already_paid', paymentStatus: 'Completed' };
 */
export type ProviderProblemDetails = {
  /** 400 to 599: 409 if the state forbids the operation, 422 if it can never succeed. */
  readonly status: number;
  /** Lower-case letters, digits and underscores. */
  readonly code: string;
  readonly detail?: string;
  /** With 409: the state of the payment. */
  readonly paymentStatus?: ProviderPaymentStatus;
  /** Sent in the header `Retry-After`. */
  readonly retryAfterSeconds?: number;
};

/**
 * An operation of a provider throws it: nothing was done, and the answer gives the reason.
 *
 * @example
 * throw new ProviderProblemError({ status: 422, code: 'currency_not_supported' });
 */
export class ProviderProblemError extends Error {
  override name = 'ProviderProblemError';
  readonly details: ProviderProblemDetails;

  constructor(details: ProviderProblemDetails) {
    super(details.detail ?? details.code);
    this.details = details;
  }
}

/** The body of the answer (RFC 9457). */
export function toProblemBody(
  details: ProviderProblemDetails,
): ProviderProblem & { readonly status: number } {
  const { code, detail, paymentStatus, status } = details;
  return {
    title: code.replaceAll('_', ' '),
    status,
    code,
    ...defined({ detail, paymentStatus }),
  };
}
