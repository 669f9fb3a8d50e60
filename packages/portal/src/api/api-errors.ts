/** Refusals of the platform (`application/problem+json`) as errors that a screen can show. */

import { defined, type Problem } from '@switchyard/contract';

/** The words for a code come from the platform; these stand where no answer came at all. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

/** The request may or may not have reached the platform. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super('no answer', { cause });
    this.name = 'ConnectionError';
  }
}

/** Where the session has ended; the shell asks to sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super('signed out');
    this.name = 'SignedOutError';
  }
}

export function isProblem(fault: unknown, code?: string): fault is ProblemError {
  return fault instanceof ProblemError && (code === undefined || fault.problem.code === code);
}

/** What came is a problem, whoever sent it: a proxy on the way may answer with a page. */
export function problemFrom(status: number, body: unknown, requestId: string): Problem {
  const read = typeof body === 'object' && body !== null ? (body as Partial<Problem>) : {};
  return {
    type: read.type ?? 'about:blank',
    title: read.title ?? `HTTP ${status}`,
    status,
    detail: read.detail ?? '',
    instance: read.instance ?? '',
    code: read.code ?? ('' as Problem['code']),
    requestId: read.requestId ?? requestId,
    outcome: read.outcome ?? (status >= 500 ? 'Unknown' : 'NotProcessed'),
    retryable: read.retryable ?? (status === 429 || status >= 502),
    ...defined({
      retryAfterMs: read.retryAfterMs,
      errors: read.errors,
      transaction: read.transaction,
      allowedOperations: read.allowedOperations,
    }),
  };
}

/**
 * What is wrong, by the path of the member as forms name it: `/address/country` is
 * `address.country`, `?limit` is `limit`.
 */
export function faultsByField(fault: unknown): Record<string, string> {
  if (!isProblem(fault)) return {};
  return Object.fromEntries(
    (fault.problem.errors ?? []).map(({ pointer, detail }) => [
      pointer.replace(/^[/?]/, '').replaceAll('/', '.'),
      detail,
    ]),
  );
}
