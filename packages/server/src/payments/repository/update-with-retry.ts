// Repeats an update: after a conflict with another request, and while the database is unavailable.
import { ProblemError, throwProblem } from '@switchyard/contract';
import { type Clock, pause, type Span } from '../../platform/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';
import type { TransactionRepository } from './transaction-repository.ts';

/** Concurrent changes of one transaction are few; more than this many point to an error. */
const maxConflictRetries = 100;

/**
 * Calls `attempt` until it returns a value. `undefined` means that another request changed the transaction
 * first; it is read again then.
 *
 * @param onExhausted called after {@link maxConflictRetries} conflicts
 */
export async function updateWithRetry<Result>(
  transactions: Pick<TransactionRepository, 'findById'>,
  initial: TransactionRecord,
  attempt: (current: TransactionRecord, conflicts: number) => Promise<Result | undefined>,
  onExhausted: (transactionId: string) => never = throwExhausted,
): Promise<Result> {
  const { organizationId, transactionId } = initial.row;
  let current = initial;
  for (let conflicts = 0; conflicts < maxConflictRetries; conflicts += 1) {
    const result = await attempt(current, conflicts);
    if (result !== undefined) return result;
    const reloaded = await transactions.findById(organizationId, transactionId);
    if (reloaded === undefined) throw new Error(`transaction ${transactionId} does not exist`);
    current = reloaded;
  }
  return onExhausted(transactionId);
}

/** Undefined if another request changed the transaction first. */
export async function commitTransition(
  transactions: Pick<TransactionRepository, 'update'>,
  current: TransactionRecord,
  transition: Transition,
  span?: Span,
): Promise<TransactionRecord | undefined> {
  const change = applyTransition(current.row, transition, span);
  return (await transactions.update(change, span)) ? withChange(current, change) : undefined;
}

function throwExhausted(transactionId: string): never {
  throw new Error(
    `transaction ${transactionId} was changed concurrently ${maxConflictRetries} times`,
  );
}

export function throwConcurrentModification(): never {
  return throwProblem(
    'concurrent_modification',
    'Too many concurrent requests for this transaction. Retry the request.',
  );
}

const databaseRetryDelayMs = 100;
const transientErrorCodes: ReadonlySet<string> = new Set(['database_unavailable', 'overloaded']);

/**
 * @param deadlineMs epoch ms after which the error is thrown
 * @param operation may run again although its first run has succeeded
 */
export async function retryWhileUnavailable<T>(
  { clock }: { clock: Clock },
  deadlineMs: number,
  operation: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      const isTransient = error instanceof ProblemError && transientErrorCodes.has(error.code);
      if (!isTransient || clock.now() >= deadlineMs) throw error;
      await pause(databaseRetryDelayMs);
    }
  }
}

type ReadAndUpdate = Pick<TransactionRepository, 'findById' | 'update'>;

/** The repository functions that are retried while the database is unavailable, for `durationMs`. */
export function withDatabaseRetry(
  { transactions, dueClock }: { transactions: ReadAndUpdate; dueClock: Clock },
  durationMs: number,
): ReadAndUpdate {
  const deadlineMs = dueClock.now() + durationMs;
  const retry = <T>(operation: () => Promise<T>) =>
    retryWhileUnavailable({ clock: dueClock }, deadlineMs, operation);
  return {
    findById: (...key) => retry(() => transactions.findById(...key)),
    update: (...change) => retry(() => transactions.update(...change)),
  };
}
