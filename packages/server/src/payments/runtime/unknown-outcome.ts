// Sets the error outcome to Unknown after the acquirer may have received the message.
import { Refusal } from '@switchyard/contract';

/**
 * Passes a result on; a refusal that knows of no money, such as a lost database, is told as
 * `Unknown`: the acquirer may have acted, and only the status tells.
 */
export async function markOutcomeUnknown<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    if (!(error instanceof Refusal) || error.outcome !== 'NotProcessed') throw error;
    const { code, detail, retryAfterMs, errors, extensions, logDetail } = error;
    const problemOptions = { retryAfterMs, errors, extensions, logDetail, cause: error };
    throw new Refusal(code, detail, { ...problemOptions, outcome: 'Unknown' });
  }
}
