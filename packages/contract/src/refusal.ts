/** The only error class for expected refusals: a code of the closed list and a public sentence. */
import { type ErrorCode, errorCodes, type FieldError, type Outcome } from './errors.ts';
import type { ProblemExtensions } from './schemas/problem.ts';

/**
 * Additional data of a refusal. `extensions` become members of the problem, which declares each of
 * them. `logDetail` is only logged.
 *
 * @example
 * const extra: RefusalExtra = { retryAfterMs: 2000, logDetail: 'lane 2 full' };
 */
export type RefusalExtra = {
  readonly outcome?: Outcome | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly errors?: readonly FieldError[] | undefined;
  readonly extensions?: ProblemExtensions | undefined;
  readonly logDetail?: string | undefined;
  readonly cause?: unknown;
};

/**
 * A refusal of a request, with the reason for the caller. Never put card data, a secret or a value
 * from the request into `detail`.
 *
 * @param code - a code of the closed list; it gives status, title, `retryable` and `outcome`
 * @param detail - one public sentence about this occurrence
 * @param extra - additional data of the problem or the log; `retryAfterMs` in milliseconds
 * @example
 * throw new Refusal('refund_amount_exceeded', '4000 EUR minor units are left to refund.');
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly outcome: Outcome;
  readonly retryAfterMs: number | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly extensions: ProblemExtensions | undefined;
  readonly logDetail: string | undefined;

  constructor(code: ErrorCode, detail: string, extra: RefusalExtra = {}) {
    super(`${code}: ${detail}`, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'Refusal';
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
 * Throws a {@link Refusal}.
 *
 * @param code - a code of the closed list
 * @param detail - one public sentence about this occurrence
 * @param extra - additional data of the problem or the log
 * @throws Refusal always
 * @example
 * if (transaction === undefined) refuse('transaction_not_found', 'No such transaction.');
 */
export function refuse(code: ErrorCode, detail: string, extra: RefusalExtra = {}): never {
  throw new Refusal(code, detail, extra);
}

/**
 * Names the faulty member of a refusal, as the `errors` of the problem.
 *
 * @param pointer - JSON pointer of the member, for example `/amount`
 * @param code - a code for field errors
 * @param detail - one public sentence about the member
 * @returns the `errors` member of a {@link RefusalExtra}
 * @example
 * refuse('field_invalid', 'amount is too large.', fieldError('/amount', 'too_large', 'At most 999999.'));
 */
export function fieldError(
  pointer: string,
  code: FieldError['code'],
  detail: string,
): { errors: FieldError[] } {
  return { errors: [{ pointer, code, detail }] };
}

/**
 * Refuses a request with a problem about one member.
 *
 * @param code - the code of the problem and of the member
 * @param pointer - JSON pointer of the member, for example `/amount`
 * @param detail - one public sentence, for the problem and for the member
 * @throws Refusal always
 * @example
 * refuseField('amount_invalid', '/amount', 'An account verification has the amount 0.');
 */
export function refuseField(
  code: ErrorCode & FieldError['code'],
  pointer: string,
  detail: string,
): never {
  throw new Refusal(code, detail, fieldError(pointer, code, detail));
}
