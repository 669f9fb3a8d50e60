/** Texts for the published pages of the error codes: the meaning of each outcome, and the next step of the client. */
import { type ErrorCode, type ErrorCodeFacts, errorCodes, type Outcome } from './errors.ts';

/**
 * The meaning of each outcome of a refused request.
 *
 * @example
 * outcomeMeanings.Unknown; // 'Money can have moved. Request the outcome before any other step.'
 */
export const outcomeMeanings: Readonly<Record<Outcome, string>> = {
  NotProcessed:
    'This request moved no money. An earlier request with the same identifier can have moved money.',
  Processed: 'An earlier request was processed, and money can have moved.',
  Unknown: 'Money can have moved. Request the outcome before any other step.',
};

/**
 * Returns the next step of a client whose request was refused with this code.
 *
 * @param code - a code of {@link errorCodes}
 * @returns the advice of the code, or the general one for its outcome and status
 * @example
 * getErrorAdvice('token_expired'); // 'Send the request again with a valid access token or client certificate.'
 */
export function getErrorAdvice(code: ErrorCode): string {
  const { advice, status, retryable, outcome }: ErrorCodeFacts = errorCodes[code];
  if (advice !== undefined) return advice;
  if (outcome === 'Processed') {
    return 'Do not send the request again: it was already processed. Request its outcome.';
  }
  if (outcome === 'Unknown') {
    return retryable
      ? 'Request the outcome first, by your own identifier. A repeated request must have the same identifier: the platform processes it only once.'
      : 'Do not send the request again: it may have been processed. Request its outcome.';
  }
  if (retryable) {
    return 'The same request can succeed later. If the response has Retry-After or retryAfterMs, wait for that time.';
  }
  if (status === 401)
    return 'Send the request again with a valid access token or client certificate.';
  if (status === 403) {
    return 'Ask an administrator for the permission, or use a resource that your token may access.';
  }
  if (status === 404) return 'Check the path and the identifier, and the scope of your token.';
  if (status >= 500) return 'Send a new request with a new identifier.';
  return 'Correct the cause that detail and errors name before you send the request again.';
}
