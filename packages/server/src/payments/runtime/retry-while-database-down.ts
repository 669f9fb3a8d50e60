// Retries an operation while the database is unavailable, until a deadline.
import { Refusal } from '@switchyard/contract';
import { type Clock, pause } from '../../platform/index.ts';

const retryDelayMs = 100;
const transientErrorCodes: ReadonlySet<string> = new Set(['database_unavailable', 'overloaded']);

/**
 * @param deadlineMs epoch ms from which on the failure is thrown
 * @param operation may be done a second time though the first try has come through
 */
export async function retryWhileUnavailable<T>(
  { clock }: { clock: Pick<Clock, 'now'> },
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
