/**
 * Errors of API calls; problems (`application/problem+json`, RFC 9457) become errors that a screen
 * can show.
 */

import { defined, type Problem } from '@switchyard/contract';

/** The platform responded with a problem; its title and detail are texts for the user. */
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

/** The session has ended; the shell asks the user to sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super('signed out');
    this.name = 'SignedOutError';
  }
}

/** Whether the platform says that the request changed nothing. Without an answer this is unknown. */
export function isNotProcessed(fault: unknown): boolean {
  return isProblem(fault) && fault.problem.outcome === 'NotProcessed';
}

export function isProblem(fault: unknown, code?: string): fault is ProblemError {
  return fault instanceof ProblemError && (code === undefined || fault.problem.code === code);
}

/** Fills missing members, because a proxy may respond with a page instead of a problem. */
export function parseProblem(status: number, body: unknown, requestId: string): Problem {
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
 * The error texts by form field: the pointer `/address/country` becomes `address.country`, `?limit`
 * becomes `limit`.
 */
export function errorsByField(fault: unknown): Record<string, string> {
  if (!isProblem(fault)) return {};
  return Object.fromEntries(
    (fault.problem.errors ?? []).map(({ pointer, detail }) => [
      pointer.replace(/^[/?]/, '').replaceAll('/', '.'),
      detail,
    ]),
  );
}
