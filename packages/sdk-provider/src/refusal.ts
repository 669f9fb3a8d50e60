/** How an operation of a provider says no. */

import { defined, type ProviderPaymentStatus, type ProviderProblem } from '@switchyard/contract';

/**
 * What a refusal says: the HTTP status of the answer, a word for machines, a sentence for people.
 *
 * @example
 * const facts: RefusalFacts = { status: 409, code: 'already_paid', paymentStatus: 'Completed' };
 */
export type RefusalFacts = {
  /** 400 to 599: 409 where the state forbids it, 422 where it can never be done. */
  readonly status: number;
  /** Small letters, digits and underscores. */
  readonly code: string;
  readonly detail?: string;
  /** With 409: how the payment stands. */
  readonly paymentStatus?: ProviderPaymentStatus;
  /** Told by the header `Retry-After`. */
  readonly retryAfterSeconds?: number;
};

/**
 * Thrown by an operation of a provider: nothing was done, and the answer says why.
 *
 * @example
 * throw new ProviderRefusal({ status: 422, code: 'currency_not_supported' });
 */
export class ProviderRefusal extends Error {
  override name = 'ProviderRefusal';
  readonly facts: RefusalFacts;

  constructor(facts: RefusalFacts) {
    super(facts.detail ?? facts.code);
    this.facts = facts;
  }
}

/** The body of the answer (RFC 9457). */
export function problemOf(facts: RefusalFacts): ProviderProblem & { readonly status: number } {
  const { code, detail, paymentStatus, status } = facts;
  return {
    title: code.replaceAll('_', ' '),
    status,
    code,
    ...defined({ detail, paymentStatus }),
  };
}
