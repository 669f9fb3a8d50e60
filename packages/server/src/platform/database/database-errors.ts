// Sorts what the database driver throws: worth another try, gone for now, or a fault of ours.
import { Refusal } from '@switchyard/contract';

/** Serialization failure and deadlock: the engine undid everything and asks for another try. */
const retryableStates = new Set(['40001', '40P01']);

/** The server refuses work or the connection is no more; classes first, then single states. */
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
/** The driver gives these no code. */
const unavailableMessages =
  /^Connection terminated|^timeout exceeded when trying to connect|^Query read timeout|^Client has encountered a connection error|^Client was closed|^Connection ended|^Cannot use a pool after calling end|^no database host|^timeout expired/;
/** Cancelled by the statement time-out: the server lives and the statement did nothing. */
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
  return error instanceof Error && unavailableMessages.test(error.message);
}

/** The connection cannot be used again. */
export function isConnectionLost(error: unknown): boolean {
  return isUnavailable(error) && sqlState(error) !== cancelled;
}

/**
 * A lost database as the refusal that clients understand; anything else unchanged.
 * `sent` says whether a statement was under way: only then may it have been done all the same.
 */
export function toDatabaseProblem(error: unknown, isSent: boolean): unknown {
  if (!isUnavailable(error)) return error;
  const isPossiblyDone = isSent && sqlState(error) !== cancelled;
  return new Refusal('database_unavailable', 'The database cannot be reached at the moment.', {
    outcome: isPossiblyDone ? 'Unknown' : 'NotProcessed',
    retryAfterMs: 1000,
    logDetail: error instanceof Error ? error.message : String(error),
    cause: error,
  });
}

/** Too many want the same rows: nothing was done, and later it may well go. */
export function contentionProblem(error: unknown): Refusal {
  return new Refusal('overloaded', 'Too many requests want the same records.', {
    retryAfterMs: 1000,
    logDetail: 'serialization failures did not end',
    cause: error,
  });
}

/**
 * For what comes behind a commit: something was done, so no refusal of this step may say that nothing was.
 *
 * @example return viewOf(await behindCommit(() => find(id)));
 */
export async function withUnknownOutcome<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof Refusal) || error.outcome === 'Unknown') throw error;
    const { code, detail, retryAfterMs, logDetail } = error;
    throw new Refusal(code, detail, { outcome: 'Unknown', retryAfterMs, logDetail, cause: error });
  }
}
