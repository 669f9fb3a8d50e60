/** The error class of every problem response (RFC 9457): a code of the closed list and a public sentence. */
import { type ErrorCode, errorCodes, type FieldError, type Outcome } from './errors.ts';
import type { ProblemExtensions } from './schemas/values-and-problems/problem.ts';

/**
 * Additional data of a problem. `extensions` become members of the problem, which declares each of
 * them. `logDetail` is only logged.
 *
 * @example
 * const extra: ProblemOptions = { retryAfterMs: 2000, logDetail: 'queue of link 2 is full' };
 */
export type ProblemOptions = {
  readonly outcome?: Outcome | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly errors?: readonly FieldError[] | undefined;
  readonly extensions?: ProblemExtensions | undefined;
  readonly logDetail?: string | undefined;
  readonly cause?: unknown;
};

/**
 * The reason why a request fails, for the caller. Never put card data, a secret or a value
 * from the request into `detail`.
 *
 * @param code - a code of the closed list; it gives status, title, `retryable` and `outcome`
 * @param detail - one public sentence about this occurrence
 * @param extra - additional data of the problem or the log; `retryAfterMs` in milliseconds
 * @example
 * throw new ProblemError('refund_amount_exceeded', 'The amount 5000 exceeds the refundable amount 4000.');
 */
export class ProblemError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly outcome: Outcome;
  readonly retryAfterMs: number | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly extensions: ProblemExtensions | undefined;
  readonly logDetail: string | undefined;

  constructor(code: ErrorCode, detail: string, extra: ProblemOptions = {}) {
    super(`${code}: ${detail}`, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'ProblemError';
    this.code = code;
    this.detail = detail;
    this.outcome = extra.outcome ?? errorCodes[code].outcome;
    this.retryAfterMs = extra.retryAfterMs;
    this.errors = extra.errors;
    this.extensions = extra.extensions;
    this.logDetail = extra.logDetail;
  }
}

/**
 * Throws a {@link ProblemError}.
 *
 * @param code - a code of the closed list
 * @param detail - one public sentence about this occurrence
 * @param extra - additional data of the problem or the log
 * @throws ProblemError always
 * @example
 * if (transaction === undefined) throwProblem('transaction_not_found', 'No such transaction.');
 */
export function throwProblem(code: ErrorCode, detail: string, extra: ProblemOptions = {}): never {
  throw new ProblemError(code, detail, extra);
}

/**
 * Returns the `errors` of a problem with one faulty member.
 *
 * @param pointer - JSON pointer of the member, for example `/amount`
 * @param code - a code for field errors
 * @param detail - one public sentence about the member
 * @returns the `errors` member of a {@link ProblemOptions}
 * @example
 * throwProblem('field_invalid', 'amount is too large.', fieldError('/amount', 'too_large', 'At most 999999.'));
 */
export function fieldError(
  pointer: string,
  code: FieldError['code'],
  detail: string,
): { errors: FieldError[] } {
  return { errors: [{ pointer, code, detail }] };
}

/**
 * Throws a problem about one member of the request.
 *
 * @param code - the code of the problem and of the member
 * @param pointer - JSON pointer of the member, for example `/amount`
 * @param detail - one public sentence, for the problem and for the member
 * @throws ProblemError always
 * @example
 * throwFieldProblem('amount_invalid', '/amount', 'An account verification has the amount 0.');
 */
export function throwFieldProblem(
  code: ErrorCode & FieldError['code'],
  pointer: string,
  detail: string,
): never {
  throw new ProblemError(code, detail, fieldError(pointer, code, detail));
}
