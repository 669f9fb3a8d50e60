// Records an acquirer outcome that arrives after the sale was reversed.
import { type AcquirerOutcome, isAmbiguousDecline } from '../../acquiring/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { reverseOnceMore } from './create-reversal.ts';
import { type LateResponsePorts, storeLateResponse } from './late-response.ts';

/**
 * Stores an approval during the reversal: the host then holds the sale, also if it does not find it. After
 * a finished reversal the sale is reversed once more.
 *
 * @returns the current transaction
 */
export async function recordSupersededOutcome(
  ports: LateResponsePorts,
  current: TransactionRecord,
  outcome: AcquirerOutcome,
): Promise<TransactionRecord> {
  const { organizationId, transactionId, position } = current.row;
  const approvedAtHost = outcome.outcome === 'Approved';
  if (approvedAtHost && position.phase === 'Reversing') {
    const { kind } = authorizationContext(current);
    const { responseCode } = outcome;
    const lateResponse = { organizationId, transactionId, kind, responseCode };
    return (await storeLateResponse(ports, lateResponse)) ?? current;
  }
  const isPossiblyAuthorized =
    approvedAtHost || outcome.outcome === 'Unknown' || isAmbiguousDecline(outcome);
  if (!isPossiblyAuthorized || position.phase !== 'Reversed') return current;
  return reverseOnceMore(ports, current, 'ApprovedAfterReversal', { approvedAtHost });
}
