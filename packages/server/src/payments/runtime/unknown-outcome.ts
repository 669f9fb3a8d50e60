// Says of a fault after the acquirer was called that money may have moved.
import { Refusal } from '@switchyard/contract';

/**
 * Passes a result on; a refusal that knows of no money, such as a lost database, is told as
 * `Unknown`: the acquirer may have acted, and only the status tells.
 */
export async function mayHaveMoved<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Refusal) || error.outcome !== 'NotProcessed') throw error;
    const { code, detail, retryAfterMs, errors, extensions, logDetail } = error;
    const extra = { retryAfterMs, errors, extensions, logDetail, cause: error };
    throw new Refusal(code, detail, { ...extra, outcome: 'Unknown' });
  }
}
