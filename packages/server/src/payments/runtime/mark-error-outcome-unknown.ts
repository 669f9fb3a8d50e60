// Sets the error outcome to Unknown after the acquirer may have received the message.
import { Refusal } from '@switchyard/contract';

/** A refusal such as `database_unavailable` says `NotProcessed`, but the message may have been sent. */
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
