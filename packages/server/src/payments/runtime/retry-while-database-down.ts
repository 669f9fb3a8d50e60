// Retries an operation while the database is unavailable, until a deadline.
import { Refusal } from '@switchyard/contract';
import { type Clock, pause } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';

const retryDelayMs = 100;
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
      const isTransient = error instanceof Refusal && transientErrorCodes.has(error.code);
      if (!isTransient || clock.now() >= deadlineMs) throw error;
      await pause(retryDelayMs);
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
    update: (change) => retry(() => transactions.update(change)),
  };
}
