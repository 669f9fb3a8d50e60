// Records an acquirer outcome that arrives after the sale was reversed.
import { type AcquirerOutcome, isAmbiguousDecline } from '../../acquiring/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { reverseOnceMore } from './create-reversal.ts';
import { storeLateResponse } from './late-response.ts';

/**
 * An approval that meets the reversal on its way is noted: a host that denies the sale then does not end it.
 * Behind a reversal that has ended, and may have come to the host before the sale, it is sent again.
 *
 * @returns the transaction as it stands then
 */
export async function recordSupersededOutcome(
  deps: PaymentsDeps,
  current: TransactionRecord,
  outcome: AcquirerOutcome,
): Promise<TransactionRecord> {
  const { organizationId, transactionId, position } = current.row;
  const approvedAtHost = outcome.outcome === 'Approved';
  if (approvedAtHost && position.phase === 'Reversing') {
    const { kind } = authorizationContext(current);
    const { responseCode } = outcome;
    const recorded = await storeLateResponse(deps, {
      organizationId,
      transactionId,
      kind,
      responseCode,
    });
    return recorded ?? current;
  }
  const isPossiblyAuthorized =
    approvedAtHost || outcome.outcome === 'Unknown' || isAmbiguousDecline(outcome);
  if (!isPossiblyAuthorized || position.phase !== 'Reversed') return current;
  return reverseOnceMore(deps, current, 'ApprovedAfterReversal', { approvedAtHost });
}
