// Converts the errors of the connector to HTTP errors with the same codes.
import { connectorFaults, defined, isErrorCode, ProblemError } from '@switchyard/contract';
import { ConnectorFault } from './connector-fault.ts';

const defaultRetryMs = 5000;

/**
 * Keeps the code if HTTP has it; a fault that only a connection can have becomes `shutting_down`.
 */
export function toProblem({ code, details: extra }: ConnectorFault): ProblemError {
  const { summary, retryable } = connectorFaults[code];
  const { retryAfterSeconds, level } = extra;
  const retryAfterMs = retryAfterSeconds === undefined ? defaultRetryMs : retryAfterSeconds * 1000;
  // The application of the token was disabled a moment ago.
  if (code === 'unauthorized') return new ProblemError('token_invalid', summary);
  return new ProblemError(isErrorCode(code) ? code : 'shutting_down', summary, {
    ...(retryable ? { retryAfterMs } : {}),
    ...defined({ extensions: level === undefined ? undefined : { level } }),
  });
}

/** @example const state = await withProblems(() => claims.status(asking, tsn)); */
export async function withProblems<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ConnectorFault ? toProblem(error) : error;
  }
}
