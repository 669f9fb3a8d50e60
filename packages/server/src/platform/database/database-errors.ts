// Classifies errors of the database driver: retryable, unavailable, or a bug.
import { ProblemError } from '@switchyard/contract';

/** Serialization failure and deadlock: PostgreSQL rolled back and expects a retry. */
const retryableStates = new Set(['40001', '40P01']);

/** The server refuses the statement, or the connection is lost: SQLSTATE classes, then single states. */
const unavailableClasses = ['08', '53', '58'];
const unavailableStates = new Set(['25006', '25P03', '57014', '57P01', '57P02', '57P03', '57P05']);
const unavailableSystemCodes = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
/** The driver sets no code on these errors. */
const unavailableMessages =
  /^Connection terminated|^timeout exceeded when trying to connect|^Query read timeout|^Client has encountered a connection error|^Client was closed|^Connection ended|^Cannot use a pool after calling end|^no database host|^timeout expired/;
/** Citus reports a worker that is lost in a transaction as an internal error. */
const workerLostMessage = /^failure on connection marked as essential/;
/** Cancelled by the statement time-out: the server is available and the statement was not executed. */
const cancelled = '57014';

export function sqlState(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : '';
}

export function isRetryable(error: unknown): boolean {
  return retryableStates.has(sqlState(error));
}

export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (unavailableStates.has(state) || unavailableSystemCodes.has(state)) return true;
  if (state.length === 5 && unavailableClasses.includes(state.slice(0, 2))) return true;
  return isWorkerLost(error) || (error instanceof Error && unavailableMessages.test(error.message));
}

/** True if Citus cannot reach the worker of a statement. The connection to the coordinator can be used again. */
export function isWorkerLost(error: unknown): boolean {
  if (error instanceof ProblemError) return isWorkerLost(error.cause);
  if (!(error instanceof Error) || !('severity' in error) || error.severity !== 'ERROR')
    return false;
  return sqlState(error).startsWith('08') || workerLostMessage.test(error.message);
}

/** True if the connection cannot be used again. */
export function isConnectionLost(error: unknown): boolean {
  return isUnavailable(error) && sqlState(error) !== cancelled && !isWorkerLost(error);
}

/**
 * Converts an unavailable database to the problem response of the API; returns other errors
 * unchanged. `isSent`: a statement was sent, so it may have been executed.
 */
export function toDatabaseProblem(error: unknown, isSent: boolean): unknown {
  if (!isUnavailable(error)) return error;
  const isPossiblyDone = isSent && sqlState(error) !== cancelled;
  const advice = isPossiblyDone
    ? 'The request may have been processed: request its outcome before you send it again.'
    : 'Send the request again after the time in Retry-After.';
  return new ProblemError('database_unavailable', `The database is unavailable. ${advice}`, {
    outcome: isPossiblyDone ? 'Unknown' : 'NotProcessed',
    retryAfterMs: 1000,
    logDetail: error instanceof Error ? error.message : String(error),
    cause: error,
  });
}

/** Too many transactions change the same rows. Nothing was written; the client can retry. */
export function contentionProblem(error: unknown): ProblemError {
  return new ProblemError(
    'overloaded',
    'Too many requests change the same records at the same time.',
    {
      retryAfterMs: 1000,
      logDetail: 'every retry ended with a serialization failure',
      cause: error,
    },
  );
}

/**
 * For a step after a commit: its errors must not say that nothing was processed.
 *
 * @example return viewOf(await withUnknownOutcome(() => find(id)));
 */
export async function withUnknownOutcome<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.outcome === 'Unknown') throw error;
    const { code, detail, retryAfterMs, logDetail } = error;
    throw new ProblemError(code, detail, {
      outcome: 'Unknown',
      retryAfterMs,
      logDetail,
      cause: error,
    });
  }
}
