// A sale that was given up while it was asked about: what others made durable meanwhile stands.
import { type AcquirerOutcome, mayBeBooked } from '../../acquiring/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';
import { reverseAgain } from './create-reversal.ts';
import { noteLateAnswer } from './late-response.ts';

/**
 * An approval that meets the reversal on its way is noted: a host that denies the sale then does not end it.
 * Behind a reversal that has ended, and may have come to the host before the sale, it is sent again.
 *
 * @returns the transaction as it stands then
 */
export async function giveWay(
  deps: PaymentsDeps,
  standing: LoadedTransaction,
  outcome: AcquirerOutcome,
): Promise<LoadedTransaction> {
  const { organizationId, transactionId, position } = standing.row;
  const approvedAtHost = outcome.outcome === 'Approved';
  if (approvedAtHost && position.phase === 'Reversing') {
    const { kind } = factsOf(standing);
    const { responseCode } = outcome;
    const noted = await noteLateAnswer(deps, { organizationId, transactionId, kind, responseCode });
    return noted ?? standing;
  }
  const mayHold = approvedAtHost || outcome.outcome === 'Unknown' || mayBeBooked(outcome);
  if (!mayHold || position.phase !== 'Reversed') return standing;
  return reverseAgain(deps, standing, 'ApprovedAfterReversal', { approvedAtHost });
}
